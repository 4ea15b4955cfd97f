"""The packages that are never used for training."""

# Held out for development: bench/quality runs on these while the product is built.
DEVELOPMENT_PACKAGES = "httpx flask rich click jedi tornado peewee wtforms mitmproxy joblib".split()

# Held out for fitting the engine's confidence, so that the packages above remain an independent test of it.
CALIBRATION_PACKAGES = """
cherrypy cookiecutter dulwich feedparser jsonschema mkdocs pelican plumbum praw pymysql tablib tinydb whoosh zeroconf
""".split()

# First published in 2025 or later, so that no model trained on public code before that has seen them. Also held out.
RECENT_PACKAGES = "openai-agents strands-agents a2a-sdk langextract google-adk".split()

# Held out for release checks: never download, inspect or tune on these before a release.
RELEASE_PACKAGES = ["bottle", "trio", "websockets", "httpcore", "poetry-core", "cattrs", "structlog"]
RECENT_RELEASE_PACKAGES = (
    "agent-client-protocol claude-agent-sdk fastapi-cloud-cli mini-swe-agent trackio verifiers".split()
)

# Paths that would bring back held-out, generated or third-party code.
SKIPPED_PARTS = ("_vendor", "vendor", "vendored", "third_party", "extern", "_generated", "generated", "site-packages")
NEVER_TRAINED = frozenset(
    name.replace("-", "_")
    for name in (
        *DEVELOPMENT_PACKAGES,
        *CALIBRATION_PACKAGES,
        *RECENT_PACKAGES,
        *RELEASE_PACKAGES,
        *RECENT_RELEASE_PACKAGES,
        *("human_eval", "mbpp", "evalplus"),
    )
)
