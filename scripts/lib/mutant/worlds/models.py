# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""spin, tla, litmus, proof: a model, a table of tests or a proved program with a bug in it, searched or checked as its
suite does. That shows what the catalogue says: of a proof the lemma at which Coq refuses."""

from ..engine import World


class Search(World):
    """`tests/suites/NAME --shown DIR SEARCH` prints what the search in DIR shows, then how large it was; it fails
    where there is no such search, or one that is a control."""

    folder = ""
    also = ()  # what else the search reads, beside the folder

    def hunt(self, lane, bug, catches):
        expected = bug.option("shows")
        for catch in catches:
            at = f"build/mutants-{self.title}/{bug.stem}.{catch.test}"
            self.engine.copy_with(bug, at, self.folder, *self.also)
            rc, said = self.shell.ask(f"{at}.said", f"tests/suites/{self.title}", "--shown", f"{at}/{self.folder}", catch.test)
            shown, _, size = said.strip().partition("\n")
            if rc:
                yield self.verdict(False, bug.full, f"{catch}: {said.strip() or f'exit {rc}'}; see {at}.said")
            elif not expected or expected == "holds":
                yield self.verdict(False, bug.full, "it does not say what it shows")
            elif shown != expected:
                yield self.verdict(False, bug.full, f"{catch} shows {shown or 'nothing'}, not {expected} ({at})")
            else:
                yield self.verdict(True, bug.full, f"caught by {catch}, which shows {shown.rstrip('.')}: {size}")


class Spin(Search):
    title, names, folder = "spin", ("spin",), "tests/models/spin"


class Tla(Search):
    title, names, folder = "tla", ("tla",), "tests/models/tla"


class Litmus(Search):
    title, names, folder = "litmus", ("litmus",), "tests/litmus"
    also = ("rust/locks", "rust/user/src", "tests/mutants")


class Proof(Search):
    title, names, folder = "proof", ("proof",), "tests/proof"
