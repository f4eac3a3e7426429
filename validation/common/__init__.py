"""Modules that the commands of validation/ and bench/ share.

A command in a folder of validation/ or bench/ adds the parent folder of this package to `sys.path` to import it.
"""
