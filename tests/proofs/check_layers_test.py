"""scripts/check_layers.py finds each kind of fault, and nothing in a sound tree."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402

LAYERS = "low||\nhigh|low|fmt::fmt\n"
PROSE = "// What this is.\n#pragma once\n"


class CheckLayers(unittest.TestCase):
    def faults(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                path = root / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.faults(root, check_layers.read_layers(LAYERS))

    def assert_fault(self, files, words):
        found = self.faults(files)
        self.assertTrue(any(words in fault for fault in found), found)

    def test_a_sound_tree_has_no_fault(self):
        self.assertEqual([], self.faults({
            "low/a.h": PROSE, "high/b.h": PROSE + '#include <fmt/core.h>\n#include "low/a.h"\n'}))

    def test_an_upward_include_is_a_fault(self):
        self.assert_fault({"low/a.h": PROSE + '#include "high/b.h"\n', "high/b.h": PROSE},
                          "low does not use high")

    def test_an_undeclared_library_is_a_fault(self):
        self.assert_fault({"low/a.cc": "#include <fmt/core.h>\n"}, "low does not link fmt::fmt")

    def test_a_header_without_prose_is_a_fault(self):
        self.assert_fault({"low/a.h": "#pragma once\n"}, "opens with prose")

    def test_a_header_without_pragma_once_is_a_fault(self):
        self.assert_fault({"low/a.h": "// What this is.\n"}, "#pragma once")

    def test_a_long_file_is_a_fault(self):
        self.assert_fault({"low/a.cc": "//\n" * 401}, "401 lines")

    def test_a_wide_line_is_a_fault(self):
        self.assert_fault({"low/a.cc": "//" + "x" * 119 + "\n"}, "121 columns")

    def test_an_include_that_is_not_from_the_root_is_a_fault(self):
        self.assert_fault({"low/a.cc": '#include "a.h"\n', "low/a.h": PROSE}, "from the root")

    def test_a_banned_word_is_a_fault(self):
        self.assert_fault({"low/a.cc": "int x = " + "ra" + "nd();\n"}, "banned")

    def test_a_local_name_that_another_file_of_the_layer_has_is_a_fault(self):
        local = "namespace {\nint twice(int x) { return x; }\n}  // namespace\n"
        self.assert_fault({"low/a.cc": local, "low/b.cc": local}, "twice is also local to src/low/a.cc")

    def test_a_local_name_that_another_layer_or_its_tests_have_is_none(self):
        local = "namespace {\nint twice(int x) { return x; }\n}  // namespace\n"
        self.assertEqual([], self.faults({"low/a.cc": local, "high/b.cc": local, "low/a_test.cc": local}))


if __name__ == "__main__":
    unittest.main()
