"""`python -P grimp_imports.py PACKAGE...` in a checkout: print the imports of each module as JSON, by grimp.

It is a separate script: grimp finds packages as Python does, and the calling process may have imported those of another
checkout.
"""

import json
import sys
from pathlib import Path

import grimp

sys.path.insert(0, str(Path.cwd()))
graph = grimp.build_graph(*sys.argv[1:], exclude_type_checking_imports=True, cache_dir=None)
json.dump({module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}, sys.stdout)
