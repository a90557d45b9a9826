# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What the module says by names and words that no guest here shows: options, mitigations, governors, and what modinfo has."""

import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


class Spoils(unittest.TestCase):
    def test_each_is_asked_for_by_its_name(self):
        text = (TOP / "rust/linux/harness/facts.rs").read_text()
        (table,) = re.findall(r"^const SPOILS: .*?= &\[$(.*?)^\];$", text, re.MULTILINE | re.DOTALL)
        pairs = re.findall(r'\(\s*cfg!\(CONFIG_(\w+)\),\s*"(\w+)",?\s*\)', table)
        (said,) = re.findall(r"^Options that spoil figures .*?\.\n\n", (TOP / "docs/kernel.md").read_text() + "\n", re.MULTILINE | re.DOTALL)
        due = re.findall(r"`(\w+)`", said)
        self.assertGreater(len(due), 10)
        self.assertEqual(pairs, [(name, name) for name in due])
        self.assertEqual(table.count("cfg!"), len(due))


class Names(unittest.TestCase):
    """facts.c asks the kernel for each by a constant of that name."""

    TEXT = (TOP / "rust/linux/harness/facts.c").read_text()

    def test_a_mitigation_is_the_features(self):
        """A CPU may have IBRS, which costs nothing. Its use in the kernel does."""
        pairs = re.findall(r'\{ "(\w+)", X86_FEATURE_(\w+) \}', self.TEXT)
        self.assertEqual(pairs, [(name, {"ibrs": "KERNEL_IBRS"}.get(name, name.upper())) for name in ("retpoline", "rethunk", "ibrs", "pti")])

    def test_a_driver_without_a_governor_has_a_policy(self):
        (body,) = re.findall(r"^static const char \*governor_of\(.*?^\}$", self.TEXT, re.MULTILINE | re.DOTALL)
        pairs = re.findall(r'policy->policy == CPUFREQ_POLICY_(\w+)(?:\)\s*return| \?) "(\w+)"', body)
        self.assertEqual(pairs, [("PERFORMANCE", "performance"), ("POWERSAVE", "powersave")])
        self.assertEqual(body.count("policy->policy"), 2)

    def test_a_governor_is_of_the_cpu(self):
        self.assertIn("policy __free(put_cpufreq_policy) = cpufreq_cpu_get(cpu);", self.TEXT)


class Parameters(unittest.TestCase):
    """What modinfo says of each parameter, beside its line in docs/kernel.md."""

    UNIT = re.compile(r"(?:micro|milli)?seconds|jiffies")

    def test_both_have_the_same_units(self):
        shim = (TOP / "rust/linux/harness/shim.c").read_text()
        said = re.findall(r'^MODULE_PARM_DESC\((\w+), "(.*)"\);$', shim, re.MULTILINE)
        names = re.findall(r"^module_param\((\w+), charp, 0444\);$", shim, re.MULTILINE)
        self.assertGreater(len(names), 20)
        self.assertEqual([name for name, _ in said], names)
        tables = re.findall(r"^\| parameter \| default \|.*?\n\n", (TOP / "docs/kernel.md").read_text(), re.MULTILINE | re.DOTALL)
        lines = dict(re.findall(r"^\| `(\w+)`(?: \\\*)? \| [^|]* \| (.*) \|$", "".join(tables), re.MULTILINE))
        self.assertEqual(sorted(lines), sorted(names))
        for name, text in said:
            self.assertEqual(set(self.UNIT.findall(text.lower())), set(self.UNIT.findall(lines[name])), name)
        self.assertGreater(sum("seconds" in text.lower() for _, text in said), 5)

    def test_both_have_the_same_ranges(self):
        """Of each parameter that is a number. The others' are sentences."""
        plan = (TOP / "rust/measure/plan.rs").read_text()
        most = {name: int(value) for name, value in re.findall(r"pub const (\w+): u32 = (\d+);", (TOP / "rust/measure/perturb.rs").read_text())}
        due = {name: (int(least), most.get(last) or int(last.replace("_", ""))) for name, least, last in
               re.findall(r'number\(\s*"(\w+)", (\d+)\.\.=(\w+),', plan)}
        due |= {name: (0, int(last)) for name, last in re.findall(r'Self::seconds\("(\w+)", (\d+),', plan)}
        (table,) = re.findall(r"^\| parameter \| allowed \|.*?\n\n", (TOP / "docs/kernel.md").read_text(), re.MULTILINE | re.DOTALL)
        said = {}
        for names, least, last in re.findall(r"^\| (`.*`) \| (\d+) (?:to|or) ([\d,]+) \|$", table, re.MULTILINE):
            said |= {name: (int(least), int(last.replace(",", ""))) for name in re.findall(r"`(\w+)`", names)}
        self.assertEqual(said.pop("rt_boost"), (0, 2))
        self.assertGreater(len(due), 15)
        self.assertEqual(said, due)

    def test_a_default_is_the_plans(self):
        tables = re.findall(r"^\| parameter \| default \|.*?\n\n", (TOP / "docs/kernel.md").read_text(), re.MULTILINE | re.DOTALL)
        said = dict(re.findall(r"^\| `(\w+)`(?: \\\*)? \| (\d+) \| .*$", "".join(tables), re.MULTILINE))
        defaults = re.findall(r"(?s)impl<L: Listed> Default for Plan<L> \{.*?\n\}|const OFF: Self = Self \{.*?\};",
                              (TOP / "rust/measure/plan.rs").read_text() + (TOP / "rust/measure/perturb.rs").read_text())
        self.assertEqual(len(defaults), 2)
        due = dict(re.findall(r"^ +(\w+): (\d+),$", "\n".join(defaults), re.MULTILINE))
        self.assertGreater(len(said), 20)
        self.assertEqual(said, {name: due.get(name) for name in said})


class Columns(unittest.TestCase):
    def test_each_is_explained(self):
        """Of `results`, in docs/kernel.md by its name. The checks' columns are one line, and the workload's are words."""
        text = (TOP / "rust/measure/outcome.rs").read_text()
        header = re.search(r'const HEADER: &str = "(lock,writers,run,.*?)";', text, re.DOTALL)[1].replace("\\\n", "").split(",")
        page = (TOP / "docs/kernel.md").read_text()
        page = page[page.index("### What was measured"):page.index("`writers` has a row for each writer")] + page[page.index("### Perturbations"):page.index("### Latency")]
        named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", " ".join(re.findall(r"(?m)^\| (`[^|]*) \|", page))))))
        checks = [name for name in header if name.endswith("_failures")]
        self.assertEqual((checks[0], len(checks)), ("owner_failures", 6))
        self.assertEqual([name for name in header if name not in named], checks[1:])
