"""Modules beside a filter in Python, from the copy that its run has."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import traceback
import unittest

from support import main, require

require("numpy")

from weir_daq.filter_modules import CopiedModules, refuse_hidden_modules
from weir_daq.parameters import ParameterError


class CopiedModulesTest(unittest.TestCase):
    def setUp(self):
        self.before = set(sys.modules)
        self.finders = list(sys.meta_path)

    def tearDown(self):
        sys.meta_path[:] = self.finders
        for name in set(sys.modules) - self.before:
            del sys.modules[name]

    def copy(self, folder, **files):
        finder = CopiedModules(
            folder, [(os.path.join(folder, *name.split("/")), text.encode()) for name, text in files.items()]
        )
        sys.meta_path.insert(0, finder)
        return finder

    def test_modules_come_from_the_copy_whatever_is_on_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cuts_a.py"), "w") as file:
                file.write("limit = 'edited'\n")
            self.copy(
                folder,
                **{
                    "cuts_a.py": "limit = 3\ndef fail():\n    raise ValueError('of the copy')\n",
                    "pack_a/__init__.py": "from . import inner\n",
                    "pack_a/inner.py": "import cuts_a\nx = cuts_a.limit\n",
                    "space_a/deep.py": "y = 4\n",
                },
            )
            import cuts_a
            import pack_a
            import space_a.deep

            self.assertEqual((cuts_a.limit, pack_a.inner.x, space_a.deep.y), (3, 3, 4))
            self.assertEqual(cuts_a.__file__, os.path.join(folder, "cuts_a.py"))
            self.assertFalse(os.path.exists(os.path.join(folder, "__pycache__")))
            try:
                cuts_a.fail()
            except ValueError:
                self.assertIn("raise ValueError('of the copy')", traceback.format_exc())

    def test_a_module_that_is_not_in_the_copy_is_not_found_and_says_how_it_would_be(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "later_b.py"), "w") as file:
                file.write("")
            self.copy(folder, **{"pack_b/__init__.py": ""})
            for name in ("later_b", "pack_b.none"):
                with self.assertRaises(ModuleNotFoundError) as raised:
                    importlib.import_module(name)
                self.assertIn("# import " + name, str(raised.exception))
            with self.assertRaises(ModuleNotFoundError) as raised:
                importlib.import_module("nowhere_b")
            self.assertNotIn("# import", str(raised.exception))

    def test_two_filters_of_one_folder_find_their_own_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("one_c.py", "two_c.py"):
                open(os.path.join(folder, name), "w").close()
            self.copy(folder, **{"one_c.py": "n = 1\n"})
            self.copy(folder, **{"two_c.py": "n = 2\n"})
            self.assertEqual(importlib.import_module("one_c").n, 1)
            self.assertEqual(importlib.import_module("two_c").n, 2)

    def test_a_compiled_module_is_loaded_from_memory(self):
        spec = importlib.util.find_spec("_json")
        if spec is None or not (spec.origin or "").endswith(".so"):
            self.skipTest("no compiled module to copy")
        with open(spec.origin, "rb") as file:
            content = file.read()
        finder = CopiedModules("/nowhere", [("/nowhere/_json.so", content)])
        found = finder.find_spec("_json")
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        self.assertEqual(module.__file__, "/nowhere/_json.so")
        self.assertTrue(callable(module.encode_basestring))

    def test_a_module_with_the_name_of_one_of_python_is_refused(self):
        for name in (
            "random.py",
            "json/__init__.py",
            "select.py",
            "_socket" + importlib.machinery.EXTENSION_SUFFIXES[0],
        ):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, *name.split("/"))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "w").close()
                with self.assertRaises(ParameterError) as raised:
                    refuse_hidden_modules(folder)
                self.assertIn(f"hides the module '{name.partition('.')[0].partition('/')[0]}'", str(raised.exception))
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "json"))  # of data
            for name in ("test.py", "mine.py", "random.txt"):
                open(os.path.join(folder, name), "w").close()
            refuse_hidden_modules(folder)


if __name__ == "__main__":
    main()
