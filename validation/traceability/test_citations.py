"""Tests which texts the scanner takes for citations."""

import pathlib
import tempfile
import textwrap
import unittest

import citations

KNOWN = {"4340": ["4", "6.1", "6.2", "6.3", "6.3.1", "6.4", "7.5.4", "8.5", "A", "A.1", "A.2"], "4342": ["8.1", "8.5"]}


class Scanner(unittest.TestCase):
    def scan(self, text, path="crates/g/x/src/file.rs", more=None):
        """Returns [(rfc, section, line, test, item)] of a file, and the errors."""
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name, content in {path: text, **(more or {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(textwrap.dedent(content))
            found, wrong = citations.scan(root, KNOWN)
        return [(c.rfc, c.section, c.line, c.test, c.item) for c in found if c.path == path], wrong

    def sections(self, comment):
        found, wrong = self.scan(f"//! RFC 4340.\n// {comment}\n")
        self.assertEqual(wrong, [])
        return [(rfc, section) for rfc, section, *_ in found]

    def test_forms(self):
        for comment, wanted in [
            ("section 8.5", [("4340", "8.5")]),
            ("(section 8.5 step 7).", [("4340", "8.5")]),
            ("Section 8.5.", [("4340", "8.5")]),
            ("RFC 4342 section 8.5: section 8.5", [("4342", "8.5"), ("4340", "8.5")]),
            ("RFC 4342, section 8.1", [("4342", "8.1")]),
            ("section 8.1 of RFC 4342", [("4342", "8.1")]),
            ("sections 6.1, 6.2 and 7.5.4", [("4340", "6.1"), ("4340", "6.2"), ("4340", "7.5.4")]),
            ("sections 6.1 to 6.3", [("4340", "6.1"), ("4340", "6.2"), ("4340", "6.3")]),
            ("appendix A.2", [("4340", "A.2")]),
            ("Appendix A with cwnd 20", [("4340", "A")]),
        ]:
            self.assertEqual(self.sections(comment), wanted, comment)

    def test_numbers_that_cite_nothing(self):
        for comment in ["0.75 or 3.4 ms", "(7.5.4)", "5.1 packets", "a section of 6.1 km", "section 6.1 of the paper", "sections 6.1 and 6.2 of SFDPS",
                        "RFC 3448 section 4", "dissection 4", "RFC 4340", "section 6.1.2.3.4.5", "section 4x"]:
            self.assertEqual(self.sections(comment), [], comment)

    def test_code_is_no_comment(self):
        self.assertEqual(self.scan('//! RFC 4340.\nlet text = "see section 8.5";\n')[0], [])

    def test_over_lines(self):
        found, _ = self.scan("//! RFC 4340.\n/// as RFC\n/// 4342 section\n/// 8.1 says, and\nfn code() {} // section 8.5\n")
        self.assertEqual([place[:3] for place in found], [("4342", "8.1", 4), ("4340", "8.5", 5)])

    def test_a_section_that_there_is_not(self):
        found, wrong = self.scan("//! RFC 4340.\n// section 21.7\n")
        self.assertEqual((found, wrong), ([], ["crates/g/x/src/file.rs:2: RFC 4340 has no section 21.7"]))

    def test_whose_section(self):
        text = "// section 8.5\n"
        self.assertEqual(self.scan(text)[0], [])
        for place in ["crates/g/x/src/lib.rs", "crates/g/x/src/deep/mod.rs"]:
            found, _ = self.scan(text, "crates/g/x/src/deep/file.rs", {place: "//! RFC 4342 section 8.1, RFC 4340.\n"})
            self.assertEqual([place[:2] for place in found], [("4342", "8.5")])
        found, _ = self.scan(text, "crates/g/x/tests/file.rs", {"crates/g/x/src/lib.rs": "//! RFC 4342.\n"})
        self.assertEqual([place[:2] for place in found], [("4342", "8.5")])

    def test_what_is_a_test(self):
        text = """\
            //! RFC 4340.
            // section 4
            fn code() {}

            #[cfg(test)]
            mod tests {
                /// Section 6.1.
                #[test]
                fn first() {
                    // section 6.2
                }
            }

            // section 6.3
            fn more() {}
            """
        found, _ = self.scan(text)
        self.assertEqual([place[1:] for place in found], [("4", 2, False, ""), ("6.1", 7, True, "first"), ("6.2", 10, True, "first"), ("6.3", 14, False, "")])
        head = "#[cfg(test)]\nmod tests;\nmod file;\n"
        for place, test in [("crates/g/x/src/tests.rs", True), ("crates/g/x/src/file.rs", False), ("crates/g/x/tests/any.rs", True), ("fuzz/any.rs", True)]:
            found, _ = self.scan("//! RFC 4340.\n// section 4\n", place, {"crates/g/x/src/lib.rs": head})
            self.assertEqual([found[0][3]], [test], place)

    def test_a_module_of_tests(self):
        found, _ = self.scan("//! RFC 4340.\n/// Sections 6.1 and 6.2.\nmod of_options {\n", "crates/g/x/tests/any.rs")
        self.assertEqual([place[4] for place in found], ["of_options::*"] * 2)


if __name__ == "__main__":
    unittest.main()
