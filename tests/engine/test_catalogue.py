# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What a catalogue may say, how a bug is planted, and the page of claims."""

import os
import pathlib
import re
import subprocess

from mutant import catalogue, claims, verdicts
from mutant.worlds import ALL
from tree import CLAIM, PLACES, Tree, bug


class Keys(Tree):
    def test_a_good_one(self):
        found = self.catalogues(PLACES + bug(more="hangs = true\ntries = 3"))
        self.assertEqual(found["p"].bugs["b"].option("tries"), 3)

    def test_unknown_key_of_a_bug(self):
        self.refused(PLACES + bug(more="hang = true"), "unknown key hang")

    def test_unknown_key_of_a_claim(self):
        self.refused("[[claim]]\ntext = 't'\ncheck = 'c'\nbug = []\n", "unknown key bug")

    def test_unknown_key_of_a_catalogue(self):
        self.refused("[[mutants]]\n", "unknown key mutants")

    def test_unknown_key_of_an_edit(self):
        self.refused(PLACES + f"[[mutant]]\nname = 'b'\nclaim = '{CLAIM}'\ncaught = ['host a']\nedits = [{{file = 'f', old = 'o', neu = 'n'}}]\n",
                     "unknown key neu")

    def test_unknown_key_of_a_place(self):
        self.refused('[tests]\nhost = { package = "x", tests = "t" }\n', "unknown key tests")

    def test_a_place_of_two_kinds_or_none(self):
        for how in ("", ', test = "t", bin = "b"', ", lib = true, bin = 'b'"):
            self.refused(f'[tests]\nhost = {{ package = "x"{how} }}\n', "a package, and one of test, lib = true and bin$")

    def test_a_key_that_its_world_does_not_know(self):
        self.refused(bug(caught='["spin safety"]', more="shows = 'x'\ntries = 2"), "tries says nothing to spin")

    def test_a_suite_that_says_not_what_is_seen(self):
        self.refused(bug(caught='["suite/all all: it works"]'), "a suite must say what is seen: shows is missing$")

    def test_a_bug_of_the_locks_that_locktorture_does_not_see(self):
        why = "^p/b: allowed: for a bug in rust/locks or rust/linux/spin that x86 can show, a test 'locktorture LOCK', or unseen; for others no unseen$"
        for file, caught, more, is_good in (
                ("rust/locks/twa.rs", '["host a"]', "", False),
                ("rust/locks/twa.rs", '["host a"]', "unseen = 'no try'", True),
                ("rust/locks/twa.rs", '["host a", "locktorture twa"]', "", True),
                ("rust/locks/twa.rs", '["host a", "locktorture twa"]', "unseen = 'no try'", False),
                ("rust/locks/twa.rs", '["host a"]', "x86 = false", True),
                ("rust/locks/twa.rs", '["host a"]', "x86 = false\nunseen = 'no try'", False),
                ("rust/locks/tests/host/main.rs", '["host a"]', "", True),
                ("rust/code", '["locktorture twa"]', "", True),
                ("rust/code", '["host a"]', "unseen = 'no try'", False)):
            text = PLACES + bug(file=file, caught=caught, more=more)
            if is_good:
                self.assertIn("b", self.catalogues(text)["p"].bugs)
            else:
                self.refused(text, why)

    def test_a_type_that_is_wrong(self):
        self.refused(PLACES + bug(more="tries = true"), "tries is not")

    def test_no_claim(self):
        self.refused(PLACES + bug().replace(f"claim = '{CLAIM}'\n", ""), "claim is missing")

    def test_a_claim_that_is_no_sentence(self):
        for claim in ("", "c", "loads acquire nothing"):
            self.refused(PLACES + bug().replace(CLAIM, claim), f"^p/b: the claim '{claim}' is no sentence; allowed: 4 words or more$")
        self.assertIn("b", self.catalogues(PLACES + bug().replace(CLAIM, "all loads acquire nothing"))["p"].bugs)

    def test_a_claim_without_a_subject(self):
        for word in catalogue.NO_SUBJECTS:
            why = f"begins with '{word}'; allowed: a noun as the subject, and none of It, They, Their, Its, Who, Whoever, Nobody, Somebody, Only$"
            claim = f"{word} holds the lock now"
            self.refused(PLACES + bug().replace(CLAIM, claim), f"^p/b: {why}")
            self.refused(f"[[claim]]\ntext = '{claim}'\ncheck = 'c'\n", f"^p: the claim '{claim}': {why}")
        self.refused(PLACES + bug().replace(CLAIM, "it, that is the lock, panics"), "begins with 'it'")
        # None of them where it is only a part of the word.
        self.assertIn("b", self.catalogues(PLACES + bug().replace(CLAIM, "Items of the list are lost"))["p"].bugs)

    def test_nobody_is_to_catch_it(self):
        self.refused(PLACES + bug(caught="[]"), "names no test")

    def test_a_world_that_is_not_there(self):
        self.refused(PLACES + bug(caught="['hots a']"), "'hots a' is not")

    def test_a_world_without_a_test(self):
        self.refused(PLACES + bug(caught="['host']"), "'host' is not")

    def test_a_place_that_is_not_there(self):
        self.refused(PLACES + bug(caught="['host/hazards a']"), "no host/hazards in")

    def test_two_of_a_name(self):
        self.refused(PLACES + bug() + bug(), "two bugs of this name")

    def test_old_and_new_are_the_same(self):
        self.refused(PLACES + bug(new="line one"), "are the same")

    def test_a_file_outside(self):
        self.refused(PLACES + bug(file="../code"), "outside the tree")

    def test_no_toml(self):
        self.refused("[[mutant]\n", "p.toml: ")

    def test_no_catalogue(self):
        with self.assertRaisesRegex(catalogue.Refused, "no catalogue"):
            catalogue.load_all(self.top / "tests")


class Names(Tree):
    def test_parts_and_bugs(self):
        self.catalogues(PLACES + bug(), "q-more")
        found = self.catalogues(PLACES + bug() + bug("other"))
        names = lambda *words: [one.full for one in catalogue.find(found, words)]
        self.assertEqual(names(), ["p/b", "p/other", "q-more/b"])
        self.assertEqual(names("q"), ["q-more/b"])
        self.assertEqual(names("other", "p/b", "other"), ["p/b", "p/other"])

    def test_a_name_that_is_not_there(self):
        with self.assertRaisesRegex(catalogue.Refused, "no bug is called nobody; the parts are p"):
            catalogue.find(self.catalogues(PLACES + bug()), ["b", "nobody"])


class Doors(Tree):
    """Which door plants a bug, and what `make test` must keep."""

    CLAIM = "[[claim]]\ntext = 'the lock holds'\ncheck = 'c'\nbugs = ['b']\n"

    def doors(self, caught, more=""):
        places = PLACES + 'rdma = { package = "handover-x", bin = "x", toolbox = "rdma" }\n'
        one = self.catalogues(places + bug(caught=caught, more=more))["p"].bugs["b"]
        return [one.door(catch) for catch in one.caught]

    def problems(self, text):
        return catalogue.problems(self.catalogues(PLACES + text), self.top)

    def test_by_world(self):
        for world in ("host a", "spin a", "torture a", "lockdep a", "compile a", "python a"):
            self.assertEqual(self.doors([world]), ["test"], world)
        for world in ("rdma a", "kunit a", "disasm a", "sample a", "locktorture a", "job a", "device a", "tla a", "tsan/x a"):
            self.assertEqual(self.doors([world]), ["test-deep"], world)
        self.assertEqual(self.doors(["suite/x a"], "shows = 'x'"), ["test-deep"])

    def test_deep(self):
        self.assertEqual(self.doors(["host a", "torture a", "job a"], "deep = true"), ["test-deep"] * 3)
        self.assertEqual(self.doors(["host a", "job a"], "deep = false"), ["test", "test"])
        self.assertEqual(self.doors(["host a", "torture a", "job a"], "deep = ['torture']"), ["test", "test-deep", "test-deep"])

    def test_one_deep_test(self):
        self.assertEqual(self.doors(["host a", "host c", "job a"], "deep = ['host c']"), ["test", "test-deep", "test-deep"])

    def test_what_a_door_plants(self):
        text = bug(caught='["host a", "torture a"]', more="deep = ['torture']") + bug("whole", more="deep = true") + bug("job", caught='["job a"]')
        for doors, worlds, expected in (
                (("test",), catalogue.WORLDS, {"b": ["host a"]}),
                (("test-deep",), catalogue.WORLDS, {"b": ["torture a"], "whole": ["host a"], "job": ["job a"]}),
                (("test-deep",), ("job", "torture"), {"b": ["torture a"], "job": ["job a"]}),
                (catalogue.DOORS, ("host",), {"b": ["host a"], "whole": ["host a"]})):
            bugs = catalogue.find(self.catalogues(PLACES + text), [])
            self.assertEqual({one.name: list(map(str, one.caught)) for one in catalogue.restrict(bugs, worlds, doors)}, expected)

    def spared(self, bugs, *claims):
        """The bugs that make test does not plant."""
        text = PLACES + "".join(f"[[claim]]\ntext = 'the lock holds'\ncheck = 'c'\nbugs = {list(names)}\n" for names in claims) + bugs
        everything = catalogue.find(self.catalogues(text), [])
        planted = {one.name for one in catalogue.restrict(everything, catalogue.WORLDS, ("test",))}
        return sorted({one.name for one in catalogue.find(self.catalogues(text), [])} - planted)

    def test_a_claim_has_one_bug(self):
        three = bug() + bug("second") + bug("third")
        self.assertEqual(self.spared(three, ("b", "second", "third")), ["second", "third"])
        # The claim's order says which.
        self.assertEqual(self.spared(three, ("third", "b", "second")), ["b", "second"])
        self.assertEqual(self.spared(three, ("b",), ("second", "third")), ["third"])
        # Whichever files they are in.
        self.assertEqual(self.spared(bug() + bug("other", file="rust/more"), ("b", "other")), ["other"])
        # What no claim names is planted: `mutants check` refuses it anyway.
        self.assertEqual(self.spared(three, ("b", "second")), ["second"])

    def test_a_bug_of_two_claims_serves_both(self):
        three = bug() + bug("second") + bug("third")
        self.assertEqual(self.spared(three, ("second", "b"), ("third", "second")), ["b", "third"])
        self.assertEqual(self.spared(three, ("b",), ("second", "b"), ("third",)), ["second"])

    def test_what_is_deep_serves_no_claim(self):
        self.assertEqual(self.spared(bug(more="deep = true") + bug("second") + bug("third"), ("b", "second", "third")), ["b", "third"])
        self.assertEqual(self.spared(bug(caught='["job a"]') + bug("second"), ("b", "second")), ["b"])

    def test_what_is_not_deep_is_never_spared(self):
        kept = bug("second", more="deep = false")
        self.assertEqual(self.spared(kept + bug("third", more="deep = false"), ("second", "third")), [])
        # And it serves its claims.
        self.assertEqual(self.spared(bug() + kept, ("b", "second")), ["b"])

    def test_quick_worlds_plant_all(self):
        for caught, spared in (('["litmus a"]', []), ('["python a"]', ["second"])):
            self.assertEqual(self.spared("".join(bug(name, caught=caught, more="shows = 'x'" * (not spared)) for name in ("b", "second")),
                                         ("b", "second")), spared)
        both = bug(caught='["host a", "litmus a"]', more="shows = 'x'")
        one = self.catalogues(PLACES + self.CLAIM.replace("['b']", "['first', 'b']") + bug("first") + both)["p"].bugs["b"]
        self.assertEqual([one.door(catch) for catch in one.caught], ["test-deep", "test"])

    def test_deep_in_a_world_that_is_not_its_own(self):
        for more in ("['torture']", "[]", "['job']", "['host', 'loom']", "['host b']", "['a']", "[1]"):
            self.refused(PLACES + bug(caught='["host a", "job b"]', more=f"deep = {more}"), "allowed: true, false, host, host a$")
        self.refused(PLACES + bug(more="deep = 1"), "deep is not")
        self.assertEqual(self.doors(["python a"], "deep = true"), ["test-deep"])

    def test_each_claim_keeps_a_bug(self):
        self.assertEqual(self.problems(self.CLAIM + bug()), [])
        deep = bug(more="deep = true")
        self.assertEqual(self.problems(self.CLAIM + deep),
                         ["p: of the claim 'the lock holds' make test plants no bug, though it has the worlds"])
        both = self.CLAIM.replace("['b']", "['b', 'kept']")
        self.assertEqual(self.problems(both + deep + bug("kept")), [])
        self.assertEqual(self.problems(both + deep + bug("kept", caught='["host a", "torture a"]', more="deep = ['torture']")), [])
        # Another claim's bug is no help.
        self.assertEqual(len(self.problems(self.CLAIM + self.CLAIM.replace("['b']", "['kept']") + deep + bug("kept"))), 1)

    def test_a_claim_whose_worlds_are_all_deep(self):
        self.assertEqual(self.problems(self.CLAIM + bug(caught='["job a", "tla a"]')), [])
        self.assertEqual(len(self.problems(self.CLAIM + bug(caught='["job a", "host a"]', more="deep = true"))), 1)

    def test_a_verdict_that_the_job_does_not_give(self):
        job = self.top / "tests/guest/j.sh"
        job.parent.mkdir(parents=True)
        job.write_text('verdict "all of it" check\nfor lock in $locks; do\n\tverdict "torture $lock" clean $lock\ndone\n')
        for name, is_there in (("j all of it", True), ("j torture mcs", True), ("j dies all of it", True), ("j dies", True),
                               ("j all of", False), ("j dies all", False), ("j torture ", False), ("k all of it", False)):
            found = self.problems(self.CLAIM + bug(caught=f'["job stock/{name}"]', more="shows = 'x'"))
            self.assertEqual(found, [] if is_there else [f"p/b: job stock/{name}: no such verdict in the job"], name)
            found = self.problems(self.CLAIM + bug(caught=f'["sanitized kasan/{name}"]', more="shows = 'x'"))
            self.assertEqual(found, [] if is_there else [f"p/b: sanitized kasan/{name}: no such verdict in the job"], name)

    def test_every_world_has_its_part(self):
        """What scripts/test plants and the parts of scripts/test-deep are all worlds, each once. Shares are a whole together."""
        groups = {world.title: world.names for world in ALL}
        scripts = pathlib.Path(__file__).resolve().parents[2] / "scripts"
        for door, pattern in (("test", r"--door test --worlds ([^\s\"]+)"), ("test-deep", r"\bdeep ([a-z][a-z,]*(?: \d/\d)?)(?:;|$)")):
            found = [line.split() for line in re.findall(pattern, (scripts / door).read_text(), re.MULTILINE)]
            shares = {line: sorted(share for names, *share in found if names == line) for line, *_ in found}
            for line, each in shares.items():
                self.assertEqual(each, [[f"{k + 1}/{len(each)}"] for k in range(len(each))] if each[0] else [[]], line)
            named = [word for line in shares for word in line.split(",")]
            worlds = [world for word in named for world in groups.get(word, (word,))]
            wanted = catalogue.WORLDS
            self.assertEqual(sorted(worlds), sorted(world for world in wanted if door != "test" or world not in ("device", "locktorture", "sanitized", "tla", "tsan")))


class Plant(Tree):
    def edits(self, *pairs):
        return [catalogue.Edit("f", old, new) for old, new in pairs]

    def test_one(self):
        found = self.catalogues(PLACES + bug())
        before = (self.top / "rust/code").read_bytes()
        undo = catalogue.plant(found["p"].bugs["b"], self.top)
        self.assertEqual((self.top / "rust/code").read_text(), "panics a\nline two\nline three\nline two again\n")
        catalogue.unplant(undo, self.top)
        self.assertEqual((self.top / "rust/code").read_bytes(), before)

    def test_several(self):
        self.assertEqual(catalogue.planted("abcdef", self.edits(("b", "XX"), ("cd", ""), ("f", "b")), "f"), "aXXeb")

    def test_the_old_text_is_missing(self):
        with self.assertRaisesRegex(catalogue.Refused, "has not the old text 'x'"):
            catalogue.planted("abc", self.edits(("x", "y")), "f")

    def test_the_old_text_is_there_twice(self):
        for text in ("abab", "aaa"):
            with self.assertRaisesRegex(catalogue.Refused, "twice"):
                catalogue.planted(text, self.edits((text[:2], "y")), "f")

    def test_edits_out_of_order(self):
        with self.assertRaisesRegex(catalogue.Refused, "not in its order"):
            catalogue.planted("abc", self.edits(("b", "x"), ("a", "y")), "f")

    def test_edits_that_overlap(self):
        with self.assertRaisesRegex(catalogue.Refused, "overlap"):
            catalogue.planted("abc", self.edits(("ab", "x"), ("bc", "y")), "f")

    def test_an_edit_does_not_make_another_ones_text(self):
        with self.assertRaisesRegex(catalogue.Refused, "has not"):
            catalogue.planted("abc", self.edits(("a", "x"), ("x", "y")), "f")

    def test_nothing_is_half_planted(self):
        found = self.catalogues(PLACES + f"[[mutant]]\nname = 'b'\nclaim = '{CLAIM}'\ncaught = ['host a']\nedits = ["
                                "{file = 'rust/code', old = 'line one', new = 'x'}, {file = 'Kbuild', old = 'no', new = 'y'}]\n")
        before = (self.top / "rust/code").read_bytes()
        with self.assertRaises(catalogue.Refused):
            catalogue.plant(found["p"].bugs["b"], self.top)
        self.assertEqual((self.top / "rust/code").read_bytes(), before)

    def test_a_new_file(self):
        entry = bug(file="rust/deep/new", new="text").replace("old = 'line one'\n", "")
        one = self.catalogues(PLACES + entry)["p"].bugs["b"]
        undo = catalogue.plant(one, self.top)
        self.assertEqual((self.top / "rust/deep/new").read_text(), "text")
        with self.assertRaisesRegex(catalogue.Refused, "is there"):
            catalogue.plant(one, self.top)
        catalogue.unplant(undo, self.top)
        self.assertFalse((self.top / "rust/deep/new").exists())

    def test_another_trees_file_is_left_alone(self):
        (self.top / "other").hardlink_to(self.top / "rust/code")
        before = (self.top / "other").read_bytes()
        undo = catalogue.plant(self.catalogues(PLACES + bug())["p"].bugs["b"], self.top)
        catalogue.unplant(undo, self.top)
        self.assertEqual((self.top / "other").read_bytes(), before)
        self.assertFalse((self.top / "other").samefile(self.top / "rust/code"))

    def test_a_program_stays_one(self):
        entry = bug(file="scripts/in-toolbox", old="top=$PWD", new="top=$OLDPWD")
        undo = catalogue.plant(self.catalogues(PLACES + entry)["p"].bugs["b"], self.top)
        self.assertTrue(os.access(self.top / "scripts/in-toolbox", os.X_OK))
        catalogue.unplant(undo, self.top)
        self.assertTrue(os.access(self.top / "scripts/in-toolbox", os.X_OK))

    def test_upon_another(self):
        found = self.catalogues(PLACES + bug() + bug("on", old="panics a", new="panics z", more="after = 'b'"))
        chain = catalogue.with_base(found, found["p"].bugs["on"])
        self.assertEqual([one.name for one in chain], ["b", "on"])
        for one in chain:
            catalogue.plant(one, self.top)
        self.assertIn("panics z", (self.top / "rust/code").read_text())

    def test_upon_itself(self):
        found = self.catalogues(PLACES + bug(more="after = 'b'"))
        with self.assertRaisesRegex(catalogue.Refused, "after itself"):
            catalogue.with_base(found, found["p"].bugs["b"])

    def test_its_patch_makes_the_same(self):
        one = self.catalogues(PLACES + bug(new="two\nlines"))["p"].bugs["b"]
        patch = catalogue.diff(one, self.top)
        catalogue.plant(one, self.top)
        planted = (self.top / "rust/code").read_text()
        (self.top / "rust/code").write_text("line one\nline two\nline three\nline two again\n")
        subprocess.run(["patch", "-p1", "-s"], input=patch.encode(), cwd=self.top, check=True)
        self.assertEqual((self.top / "rust/code").read_text(), planted)


class Claims(Tree):
    CLAIM = "[[claim]]\ntext = 'the lock holds'\ncheck = 'by a | b'\nbugs = ['b']\ncontrol = 'x'\n"

    def problems(self, text):
        return catalogue.problems(self.catalogues(PLACES + text), self.top)

    def test_nothing_is_wrong(self):
        self.assertEqual(self.problems(self.CLAIM + bug()), [])

    def test_a_bug_under_no_claim(self):
        self.assertEqual(self.problems(self.CLAIM + bug() + bug("alone")), ["p/alone: no claim names it"])

    def test_a_claim_names_a_bug_that_is_not_there(self):
        self.assertIn("names p/b, which is not there", self.problems(self.CLAIM)[0])
        self.assertIn("names q/b, which is not there", self.problems(self.CLAIM.replace("'b'", "'q/b'"))[0])

    def test_a_bug_that_does_not_apply(self):
        self.assertIn("p/b: does not apply", self.problems(self.CLAIM + bug(old="line"))[0])

    def test_the_page(self):
        page = claims.page(self.catalogues(PLACES + self.CLAIM + bug()))
        self.assertIn("| the lock holds. | by a \\| b. | `b`. Control: x. |\n", page)
        self.assertIn(f"| `b` | {CLAIM}. | `host a` |\n", page)
        self.assertIn("\n1 claims, 1 planted bugs.\n", page)
        self.assertNotIn("have none yet", page)

    def test_a_claim_whose_check_was_not_seen_failing(self):
        bare = "[[claim]]\ntext = 'the lock is fair'\ncheck = 'c'\n"
        page = claims.page(self.catalogues(PLACES + self.CLAIM + bug() + bare + bare + "control = 'x'\n"))
        self.assertIn("| the lock is fair. | c. | none yet |\n", page)
        self.assertIn("| the lock is fair. | c. | Control: x. |\n", page)
        self.assertIn("\n3 claims, 1 planted bugs; 1 claims have none yet.\n", page)

    def test_the_page_names_every_claim_and_bug(self):
        page = claims.page(self.catalogues(PLACES + self.CLAIM + self.CLAIM.replace("holds", "also") + bug() + bug("c")))
        for word in ("the lock holds", "the lock also", "| `b` |", "| `c` |"):
            self.assertIn(word, page)


class Verdicts(Tree):
    """The table of verdicts before and after."""

    def table(self, column, log, text=bug(caught='["host a", "host c", "torture ticket owner"]')):
        catalogues = self.catalogues(PLACES + text, "locks")
        self.write("log", log)
        verdicts.update(column, [self.top / "log"], catalogues, self.top / "out.csv")
        return (self.top / "out.csv").read_text().splitlines()

    def test_before(self):
        self.assertEqual(self.table("before", "ok mutant b (caught by a in 2 s)\nok mutant b (c does not end)\n"
                                    "not ok guest mutant b: the module was removed\n"),
                         ["bug,set,before,after", "b,locks,caught,", "b,torture,missed,"])

    def test_what_no_log_shows_in_full_stays_empty(self):
        self.assertEqual(self.table("before", "ok mutant b (caught by a in 2 s)\nok mutant b (caught by a in 3 s)\nok other b\n")[1:],
                         ["b,locks,,", "b,torture,,"])

    def test_after_keeps_before(self):
        self.table("before", "ok guest mutant b: found by owner alone\n")
        log = "ok mutant locks/b (caught by host a in 1 s)\nok mutant locks/b (caught by host c in 1 s)\n"
        self.assertEqual(self.table("after", log)[1:], ["b,locks,,caught", "b,torture,caught,"])
        self.assertEqual(self.table("after", log + "not ok mutant locks/b: host c passes\n")[1:], ["b,locks,,missed", "b,torture,caught,"])

    def test_a_failure_without_a_world_is_everybodys(self):
        self.assertEqual(self.table("after", "not ok mutant locks/b: does not apply\n")[1:], ["b,locks,,missed", "b,torture,,missed"])
