"""What an honest server answers, for tests that change a part of it."""

RELEASE = {
    "value": 3.0,
    "interval": [1, 5],
    "confidence": 0.95,
    "epsilon": 1.0,
    "delta": 0.0,
    "neighbours": "change-one",
    "query": "count",
    "mechanism": "worst_case",
    "calibration": "worst_case",
    "noise": "laplace",
    "missing": None,
    "labels": None,
}
QUOTE = {
    "query": "count",
    "epsilon": 1.0,
    "delta": 0.0,
    "expected_error": 1.0,
    "bound": 3.0,
    "confidence": 0.95,
    "kind": "exact",
    "mechanism": "worst_case",
    "calibration": "worst_case",
    "noise": "laplace",
}
