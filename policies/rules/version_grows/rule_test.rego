package obspc.rules.version_grows_test

import data.obspc.rules.version_grows

widened := {"verdict": "widened", "version": 3}

same := {"verdict": "same", "version": 3}

answer_widened() := widened

answer_same() := same

test_forgotten if count(version_grows.deny) == 1 with obspc.change as answer_widened with input as {"version": 3}

test_lowered if count(version_grows.deny) == 1 with obspc.change as answer_widened with input as {"version": 2}

test_grown if count(version_grows.deny) == 0 with obspc.change as answer_widened with input as {"version": 4}

test_unchanged if count(version_grows.deny) == 0 with obspc.change as answer_same with input as {"version": 3}
