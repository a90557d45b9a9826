# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""A clone in small, whose cargo, guests and searches do what rust/code says when it is compiled:

    panics TEST, quiet TEST, hangs TEST, dies TEST    what the test does; it passes otherwise
    panics-at N TEST                                  in its N-th run
    broken                                            it does not compile
    exit N, console WORDS, stream WORDS, log WORDS    what a guest does and says
    kunit LINE, path LINE, shown LINE                 what kunit, disasm and a search print
    fails TEST, silent TEST                           what a test of the engine's does; it passes otherwise
"""

import io
import os
import pathlib
import shutil
import tempfile
import unittest

from mutant import catalogue
from mutant.engine import Engine
from mutant.worlds import ALL

FILES = {
    "Cargo.toml": "[workspace]\n",
    "Cargo.lock": "",
    "Kbuild": "",
    "Makefile": "",
    "README.md": "",
    "LICENSES/MIT.txt": "",
    "qemu/packages": "",
    "docs/claims.md": "",
    "rust/code": "line one\nline two\nline three\nline two again\n",
    "tests/models/spin/model": "code\n",
    # Its cache is beside the clone's build/.
    "scripts/lib/env.sh": "host_digest() { cat rust/code | cksum | tr -d ' '; }\nforget() { echo \"$@\" >>build/forgotten; }\ncache=$PWD/cache\n",
    "scripts/build/host-deps": 'mkdir -p "$1"\n',
    # The toolbox: /handover is the clone.
    "scripts/in-toolbox": '''
        top=$PWD n=$#
        for word; do set -- "$@" "${word//\\/handover/$top}"; done
        shift $n
        PATH=$top/bin:$PATH exec "$@"
''',
    # Goes by its fingerprints, as cargo does, and takes what it compiled last.
    "bin/cargo": '''
        mkdir -p "$CARGO_TARGET_DIR"/debug/.fingerprint
        if [ ! -e "$CARGO_TARGET_DIR"/debug/.fingerprint/handover-x ]; then
            ! grep -q '^broken' rust/code || exit 101
            cp rust/code "$CARGO_TARGET_DIR"/code
            mkdir "$CARGO_TARGET_DIR"/debug/.fingerprint/handover-x
        fi
        target=$(dirname "$0")/../bin/program
        artifact() { echo '{"reason":"compiler-artifact","target":{"name":"'"$1"'","kind":["'"$2"'"]},"profile":{"test":'$3'},"executable":"'"$target"'"}'; }
        artifact t test true
        artifact x lib true
        artifact x bin true
        # The program itself, which the tests run: it is no test.
        target=$target-itself
        artifact x bin false
''',
    # Nobody waits here for what hangs.
    "bin/timeout": '''
        [ "$1 $2 $3" = "-k 5 77" ] || exit 1
        shift 3
        "$@"
        rc=$?
        [ $rc -ne 99 ] || exit 124
        exit $rc
''',
    "bin/program": '''
        code=$CARGO_TARGET_DIR/code test=$2 n=0
        fails() { echo "test $test ... FAILED"; exit 101; }
        echo "$test" >>"$CARGO_TARGET_DIR"/../../../runs
        n=$(grep -cx "$test" "$CARGO_TARGET_DIR"/../../../runs)
        if grep -qx "panics $test" "$code" || grep -qx "panics-at $n $test" "$code"; then
            echo "thread panicked at x" && fails
        fi
        ! grep -qx "quiet $test" "$code" || fails
        ! grep -qx "dies $test" "$code" || exit 139
        ! grep -qx "hangs $test" "$code" || exit 99
        echo "test $test ... ok"
''',
    "bin/program-itself": '''
        echo "it does what it is for"
''',
    "scripts/build/module-for": '''
        if grep '^broken' "$2/rust/code" >&2; then exit 1; fi
        echo "$2/rust"
''',
    "scripts/guest/boot": '''
        smp=0
        echo "$*" >>boots
        while [ $# -gt 0 ]; do
            case $1 in --module) module=$2 ;; --out) out=$2 ;; --smp) smp=$2 ;; esac
            shift
        done
        for name in console stream log; do
            file=$out/$name
            [ $name != console ] || file=$out/console.log
            sed -n "s/^$name //p; s/^$name-$smp //p" "$module/code" >"$file"
        done
        exit "$(sed -n 's/^exit //p' "$module/code" | tail -n 1 | grep . || echo 3)"
''',
    "scripts/guest/kunit": '''
        sed -n 's/^kunit //p' "$2/code"
        ! grep -q '^kunit not ok' "$2/code"
''',
    "tests/suites/disasm": 'sed -n "s/^path //p" "$2/code"\n',
    "tests/suites/spin": '''
        grep -qx "$3" <<<"safety" || { echo "no such search: $3"; exit 1; }
        sed -n "s/^shown //p" "$2/model"
''',
    "tests/suites/all": '''
        cd "$(dirname "$0")/../.."
        [ "$*" = "one two" ] || exit 9
        sed -n "s/^suite //p" rust/code
        exit "$(sed -n 's/^exit //p' rust/code | grep . || echo 0)"
''',
    # The engine's tests, in the tree that --in names.
    "tests/suites/engine": '''
        tree=$2 rc=0
        shift 2
        echo "${tree##*/}" >>build/runs
        for test; do
            ! grep -qx "silent $test" "$tree/rust/code" || continue
            if grep -qx "fails $test" "$tree/rust/code"; then echo "not ok engine $test: AssertionError: x" && rc=1
            else echo "ok engine $test"; fi
        done
        exit "$(sed -n 's/^exit //p' "$tree/rust/code" | grep . || echo $rc)"
''',
    "tests/suites/lockdep": 'sed -n "s/^left //p" "$2/code"\n',
}

PLACES = '[tests]\nhost = { package = "handover-x", test = "t" }\n"host/lib" = { package = "handover-x", lib = true }\n' \
         '"host/bin" = { package = "handover-x", bin = "x" }\n'


CLAIM = "the planted code panics"


def bug(name="b", old="line one", new="panics a", caught='["host a"]', more="", file="rust/code"):
    """A bug's entry."""
    return f"[[mutant]]\nname = '{name}'\nclaim = '{CLAIM}'\nfile = '{file}'\nold = '{old}'\nnew = '''{new}'''\ncaught = {caught}\n{more}\n"


class Tree(unittest.TestCase):
    """A test with a clone of its own."""

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        for name, text in FILES.items():
            self.write(name, text if name in ("Cargo.toml", "Cargo.lock", "Kbuild", "Makefile", "README.md", "docs/claims.md", "rust/code", "tests/models/spin/model")
                       else "#!/usr/bin/env bash\nset -u\n" + text)
            (self.top / name).chmod(0o755)
        os.environ["MUTANT_LIMIT_S"] = "77"

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def catalogues(self, text, part="p"):
        self.write(f"tests/mutants/{part}.toml", text)
        return catalogue.load_all(self.top / "tests/mutants")

    def refused(self, text, why):
        with self.assertRaisesRegex(catalogue.Refused, why):
            self.catalogues(text)

    def hunt(self, text, words=(), takes_over=False):
        """(good, lines) of a run over all bugs."""
        catalogues = self.catalogues(PLACES + text)
        out = io.StringIO()
        engine = Engine(self.top, catalogues, out=out, err=io.StringIO(), takes_over=takes_over)
        good = engine.run([world(engine) for world in ALL], catalogue.find(catalogues, words))
        return good, out.getvalue().splitlines()

    def caught(self, text, line="ok mutant p/b "):
        good, lines = self.hunt(text)
        self.assertTrue(any(one.startswith(line) for one in lines), lines)
        self.assertTrue(good and not any(one.startswith("not ok") for one in lines), lines)

    def missed(self, text, why, line="not ok mutant p/b: "):
        good, lines = self.hunt(text)
        self.assertTrue(any(one.startswith(line) and why in one for one in lines), lines)
        self.assertFalse(good, "a run in which a bug was missed is called good")
