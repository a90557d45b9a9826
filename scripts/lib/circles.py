# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What scripts/report/circles needs of Rust: which file of a crate imports which, and the circles among them."""

import re

from rust_source import source

TOKEN = re.compile(r'[A-Za-z_][A-Za-z0-9_]*|::|[{}(),;*!=#\[\]]|.', re.S)


class Crate:
    """The modules of one crate: what each file imports, resolved to the file that defines it."""

    def __init__(self, root):
        self.files, self.text, self.uses = {}, {}, {}
        self.exports = {}  # (module, name): the path that it stands for
        self.load((), root, root.parent)
        for module in self.files:
            self.uses[module] = list(self.imports(module))

    def load(self, module, path, folder):
        """Reads a module's file, and those that it declares."""
        self.files[module], self.text[module] = path, source(path)
        for name in re.findall(r'\bmod\s+(\w+)\s*;', self.text[module]):
            given = re.search(r'#\[path\s*=\s*"([^"]*)"\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+' + name, path.read_text())
            tried = [path.parent / given[1]] if given else [folder / f"{name}.rs", folder / name / "mod.rs"]
            for child in tried:
                if child.exists():
                    # A file that `path` names is as a mod.rs: its modules lie beside it.
                    self.load(module + (name,), child, child.parent if given else folder / name)
                    break
            else:
                raise SystemExit(f"circles: {path}: no file of the module {name}")

    def absolute(self, module, parts):
        """A path as written in `module`, from the crate's root; None if it leads elsewhere."""
        parts = list(parts)
        if parts[0] == "crate":
            return tuple(parts[1:])
        if parts[0] in ("self", "super"):
            base = list(module)
            while parts and parts[0] in ("self", "super"):
                if parts.pop(0) == "super":
                    if not base:
                        return None
                    base.pop()
            return tuple(base + parts)
        return module + tuple(parts) if module + (parts[0],) in self.files else None

    def imports(self, module):
        """(path, name, is a re-export) for each path in the module's text."""
        tokens = TOKEN.findall(re.sub(r'\s+', " ", self.text[module]))
        tokens = [token for token in tokens if token != " "]
        at, public = 0, False
        while at < len(tokens):
            if tokens[at] == "use" and (at == 0 or tokens[at - 1] in (";", "}", "{", "]", "pub", ")")):
                public = "pub" in tokens[max(0, at - 5) : at]
                at, found = self.tree(tokens, at + 1, ())
                for parts, name in found:
                    path = self.absolute(module, parts)
                    if path is not None:
                        self.exports[module, name] = path
                        yield path, public
            elif tokens[at] == "::" and tokens[at - 1] in ("crate", "super", "self"):
                start = at - 1
                while tokens[start - 1] == "::" and tokens[start - 2] in ("super", "self"):
                    start -= 2
                parts = [tokens[start]]
                while tokens[at] == "::" and re.match(r'\w', tokens[at + 1]):
                    parts.append(tokens[at + 1])
                    at += 2
                path = self.absolute(module, parts) if len(parts) > 1 else None
                if path is not None and tokens[start - 1] != "in":
                    yield path, False
                continue
            elif tokens[at] == "::" and (at < 2 or tokens[at - 2] != "::") and re.match(r'\w', tokens[at - 1] + tokens[at + 1]):
                path = self.absolute(module, [tokens[at - 1], tokens[at + 1]])
                if path is not None:
                    yield path, False
            at += 1

    def tree(self, tokens, at, prefix):
        """One use tree: its end, and (path, the name it gets here)."""
        parts, found = list(prefix), []
        while tokens[at] not in (";", ",", "}"):
            token = tokens[at]
            if token == "{":
                at += 1
                while tokens[at] != "}":
                    at, inner = self.tree(tokens, at, parts)
                    found += inner
                    at += tokens[at] == ","
                return at + 1, found
            if token == "as":
                return at + 2, [(parts, tokens[at + 1])]
            if token != "::":
                parts.append(token)
            at += 1
        name = parts[-1]
        if name == "self":
            parts, name = parts[:-1], parts[-2] if len(parts) > 1 else "self"
        return at, [(parts, name)] if parts else []

    def defines(self, path, seen=()):
        """The module whose file defines what the path names."""
        length = len(path)
        while path[:length] not in self.files:
            length -= 1
        module, rest = path[:length], path[length:]
        if rest and (module, rest[0]) in self.exports and (module, rest[0]) not in seen:
            onto = self.exports[module, rest[0]] + rest[1:]
            return self.defines(onto, seen + ((module, rest[0]),))
        return module, rest[0] if rest else (path or ("crate",))[-1]

    def edges(self):
        """{module: {module: names}}"""
        edges = {module: {} for module in self.files}
        for module, uses in self.uses.items():
            for path, public in uses:
                target, name = self.defines(path)
                if target != module and not public:
                    # A name imported from a module: only the module itself was named.
                    edges[module].setdefault(target, set()).add(name)
        return edges


def circles(edges):
    """Strongly connected sets of more than one, by reachability."""
    reach = {}
    for start in edges:
        reach[start], todo = set(), [start]
        while todo:
            for to in edges[todo.pop()]:
                if to not in reach[start]:
                    reach[start].add(to)
                    todo.append(to)
    return sorted({tuple(sorted(b for b in edges if b in reach[a] and a in reach[b])) for a in edges if a in reach[a]})
