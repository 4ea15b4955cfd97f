"""Compares miniatures of the published families with their reference implementations.

python -m bench.families [FAMILY...] [--device NAME]
"""

import argparse
import sys

from bench.families.checks import MINIATURES, check_family
from infill_engine.errors import InfillError


def main() -> int:
    """Print every check. Return 1 if one failed, 2 for an unknown family or an unavailable device."""
    parser = argparse.ArgumentParser(prog="python -m bench.families", description=__doc__)
    parser.add_argument(
        "families", metavar="FAMILY", nargs="*", help=f"all of {', '.join(MINIATURES)} if none is named"
    )
    parser.add_argument("--device", default="auto", help="where the adapters compute (%(default)s)")
    options = parser.parse_args()
    sound = True
    try:
        for name in options.families or MINIATURES:
            for check in check_family(name, options.device):
                sound = sound and check.ok
                print(f"{'ok' if check.ok else 'FAIL':<6}{check.family:<18}{check.name:<13}{check.detail}", flush=True)
    except InfillError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
