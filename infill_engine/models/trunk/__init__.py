"""The default model: a frozen causal language model with an adapter, and its search. See ARCHITECTURE.md."""

import sys

# Without this package, `import openvino` does not report to Google Analytics. It does so in a forked process, which can
# block this one for good.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
