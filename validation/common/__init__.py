"""What the commands of validation/ and bench/ share, one idea a file.

A command that lies in a folder of validation/ finds it with `sys.path.insert(1, str(HERE.parent))`, one in bench/ alike.
"""
