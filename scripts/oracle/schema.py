"""Documents bound by JSON schemas, judged by jsonschema.

usage: schema.py cases OUT            golden documents, allowed and not
       schema.py random OUT SEED N    N random schemas of bounded lengths
       schema.py check SCHEMAS FILE   judge documents that retort wrote
       schema.py run SCHEMAS GENERATE MODEL EACH [OPTION ...]

cases: OUT, tests/golden/schema/cases.jsonl, has objects of a schema, `good`
documents in the form that generate-run(1) describes, and `bad` ones, which
jsonschema or a JSON reader refuses.
random: OUT, tests/golden/schema/random.jsonl, has a schema a line.
check: FILE has a line for each document: the schema's number, a tab, the
document with newlines as "\\n" and backslashes as "\\\\"; build/tests/gen/schema
writes it if RETORT_ANSWERS names it.  Prints how many documents are valid.
run: lets `GENERATE run -m MODEL --schema` write EACH texts for each schema, and
judges those that ended by EOS.
"""
import json
import random
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator


def valid(schema, text):
    """Is the text a JSON document that the schema allows?"""
    try:
        doc = json.loads(text, parse_constant=lambda c: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return Draft202012Validator(schema).is_valid(doc)


# ---- random schemas ----

WORDS = ["a", "b", "ab", "abc", "name", "id", "x y", "é", "日本", "q\"t", "tab\t",
         "\\", "", "été", "type", "value", "kind", "😀"]


class Schemas:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def constant(self, depth=1):
        r = self.r
        kind = r.randrange(7 if depth > 0 else 5)
        if kind == 5:
            return [self.constant(depth - 1) for _ in range(r.randrange(3))]
        if kind == 6:
            return {w: self.constant(depth - 1)
                    for w in r.sample(WORDS, r.randrange(3))}
        return [None, r.random() < .5, r.choice([0, 1, 12, 123, -5]),
                r.choice([0.5, -1.25, 1e20, 0.1]), r.choice(WORDS)][kind]

    def string(self):
        lo = self.r.choice([0, 0, 0, 1, 3])
        s = {"type": "string", "maxLength": lo + self.r.randrange(8)}
        if lo or self.r.random() < .3:
            s["minLength"] = lo
        return s

    def array(self, depth):
        lo = self.r.choice([0, 0, 1, 2])
        s = {"type": "array", "items": self.schema(depth - 1),
             "maxItems": lo + self.r.randrange(3)}
        if lo or self.r.random() < .3:
            s["minItems"] = lo
        return s

    def object(self, depth):
        names = self.r.sample(WORDS, self.r.randrange(5))
        s = {"type": "object",
             "properties": {n: self.schema(depth - 1) for n in names},
             "required": [n for n in names if self.r.random() < .6]}
        if names or self.r.random() < .5:
            s["additionalProperties"] = False
        if not names and self.r.random() < .3:
            s["additionalProperties"] = self.schema(0)
        if self.r.random() < .2:
            del s["required"]
        return s

    def constants(self):
        r = self.r
        if r.random() < .3:
            return {"const": self.constant()}
        s = {"enum": [self.constant() for _ in range(r.randrange(1, 6))]}
        if r.random() < .3:
            s["enum"].append("word")
            s["type"] = "string"
        return s

    def types(self):
        names = self.r.sample(["null", "boolean", "integer", "number",
                               "string"], self.r.randrange(1, 4))
        s = {"type": names[0] if len(names) == 1 else names}
        if "string" in names:
            s["maxLength"] = self.r.randrange(6)
        if ("integer" in names or "number" in names) and self.r.random() < .5:
            self.bounds(s)
        return s

    def bounds(self, s):
        """Bounds of a number, between which there is a whole one."""
        r = self.r
        lo = r.choice([0, 0, 1, -1, -40, 17, 1000, -0.5, 0.25, -1234567.5])
        hi = lo + r.choice([1, 1.5, 2, 9, 83, 1000, 10 ** 8])
        if r.random() < .8:
            s[r.choice(["minimum", "minimum", "exclusiveMinimum"])] = lo
        if r.random() < .8:
            s["maximum"] = hi
        if "maximum" in s and r.random() < .2 and hi - lo > 1:
            s["exclusiveMaximum"] = s.pop("maximum")

    def schema(self, depth):
        r = self.r
        kind = r.randrange(9 if depth > 0 else 4)
        s = (self.string() if kind == 0
             else self.types() if kind in (1, 2)
             else self.constants() if kind == 3
             else self.array(depth) if kind == 4
             else self.object(depth) if kind in (5, 6)
             else {"anyOf": [self.schema(depth - 1)
                             for _ in range(r.randrange(1, 4))]} if kind == 7
             else {"$ref": r.choice(["#/$defs/one", "#/$defs/two"])})
        if r.random() < .1:
            s["description"] = "words"
        return s

    def root(self):
        s = self.object(3) if self.r.random() < .6 else self.schema(3)
        s["$defs"] = {
            "one": self.string(),
            "two": {"type": "object", "additionalProperties": False,
                    "required": ["v"], "properties": {
                        "v": self.schema(0),
                        "next": {"anyOf": [{"$ref": "#/$defs/two"},
                                           {"type": "null"}]}}}}
        return s


# ---- documents in the form that retort writes, by a writer of its own ----

class Writer:
    def __init__(self, root, r):
        self.root, self.r = root, r

    def gap(self, depth):
        r = self.r
        return r.choice(["", "", " ", "\n" + " " * r.randrange(4 * depth + 1)])

    def characters(self, n):
        one = ["a", "Z", " ", "0", "é", "日", "😀", "\\n", "\\\"", "\\\\", "\\/",
               "\\u00e9", "\\uD7ff", "\\uffFF", "}", ",", "\x7f", "\u00a0"]
        return "".join(self.r.choice(one) for _ in range(n))

    def number(self, whole):
        r = self.r
        s = r.choice(["", "-"]) + str(r.choice([0, 7, 10, 10 ** 17]))
        if whole:
            return s
        if r.random() < .5:
            s += "." + r.choice(["0", "5", "125", "0" * 17 + "1"])
        if r.random() < .3:
            s += r.choice("eE") + r.choice(["", "+", "-"]) + str(
                r.randrange(100))
        return s

    def bounded(self, s):
        """A number within bounds, without an exponent; without a fraction if
        the type integer is the only one."""
        r = self.r
        whole = "number" not in s["type"]
        lo = s.get("minimum", s.get("exclusiveMinimum"))
        hi = s.get("maximum", s.get("exclusiveMaximum"))
        lo = lo if lo is not None else hi - r.choice([0, 1, 50, 10 ** 7])
        hi = hi if hi is not None else lo + r.choice([0, 1, 50, 10 ** 7])
        near = [lo, hi, (lo + hi) / 2, lo + .000001, hi - .000001,
                r.uniform(lo, hi), round(r.uniform(lo, hi), 1)]
        near += [x + d for x in (lo, hi) for d in (-1, 0, 1)]
        texts = {form % x for x in near for form in (
            ("%.0f",) if whole else ("%.0f", "%.1f", "%.6f"))}
        return r.choice(sorted(x for x in texts if valid(s, x)))

    def document(self, s, depth=0):
        r = self.r
        if s is True:
            s = {"type": r.choice(["null", "boolean", "string", "number"])}
        if "$ref" in s:
            at = self.root
            for part in s["$ref"].split("/")[1:]:
                at = at[part]
            return self.document(at, depth)
        if "anyOf" in s:
            return self.document(r.choice(s["anyOf"]), depth)
        if "const" in s or "enum" in s:
            v = s["const"] if "const" in s else r.choice(
                [v for v in s["enum"]
                 if Draft202012Validator(s).is_valid(v)])
            return json.dumps(v, ensure_ascii=False, separators=(
                ",", ":")).replace("e+", "e")
        t = s.get("type")
        t = r.choice(t) if isinstance(t, list) else t
        if t == "null":
            return "null"
        if t == "boolean":
            return r.choice(["true", "false"])
        if t in ("integer", "number"):
            bounded = any(k in s for k in (
                "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
            return self.bounded(s) if bounded else self.number(
                t == "integer")
        if t == "string":
            lo = s.get("minLength", 0)
            n = r.randrange(lo, s.get("maxLength", lo + 5) + 1)
            return '"' + self.characters(n) + '"'
        if t == "array":
            lo = s.get("minItems", 0)
            n = r.randrange(lo, s.get("maxItems", lo + 3) + 1)
            items = [self.gap(depth + 1) +
                     self.document(s.get("items", True), depth + 1)
                     for _ in range(n)]
            return "[" + ",".join(items) + self.gap(depth + 1) + "]"
        return self.object(s, depth)

    def object(self, s, depth):
        r = self.r
        properties = s.get("properties", {})
        if properties:
            chosen = [(json.dumps(n, ensure_ascii=False), v)
                      for n, v in properties.items()
                      if n in s.get("required", []) or r.random() < .4]
        else:
            more = s.get("additionalProperties", True)
            chosen = [] if more is False else [
                ('"%d%s"' % (i, self.characters(2)), more)
                for i in range(r.randrange(3))]
        members = [self.gap(depth + 1) + n + ":" + r.choice(["", " "]) +
                   self.document(v, depth + 1) for n, v in chosen]
        return "{" + ",".join(members) + self.gap(depth + 1) + "}"


def spoil(text, r):
    """The text with a byte changed, removed or added, as text."""
    i = r.randrange(len(text)) if text else 0
    c = r.choice(["\"", "{", "}", "[", "]", ",", ":", "0", "a", "-", "\\", "\t",
                  "\n", ".", "é", "null", "\x01"])
    return r.choice([text[:i] + text[i + 1:], text[:i] + c + text[i:],
                     text[:i] + c + text[i + 1:], text[:i], text + c])


# What a reader of JSON allows and the form does not, or a schema by hand.
HAND = [
    ({"type": "object", "properties": {"a": {"type": "integer"},
                                       "b": {"type": "string"}},
      "required": ["a"], "additionalProperties": False},
     ['{"a":1}', '{"a": 1, "b": ""}', '{\n    "a": 1,\n    "b": "x"\n}'],
     ['{}', '{"b":""}', '{"a":1,}', '{"a":1,"c":2}', '{"a":"1"}', '[]', '"a"',
      '{"a":1}}', '{"a":1.5}', '{"a":01}', '{"a":+1}', "{'a':1}"]),
    ({"type": "string", "minLength": 2, "maxLength": 3},
     ['"ab"', '"éé"', '"\\u00e9\\n"', '"😀😀😀"'],
     ['"a"', '"abcd"', '"\\u00e9"', '"a\nb"', '"\\x41"', '"\\ud83d"', '"ab',
      "12"]),
    ({"enum": [1, 10, 100, "1", None, [1, {"a": "b"}]]},
     ["1", "10", "100", '"1"', "null", '[1,{"a":"b"}]'],
     ["11", "0", '"10"', "nul", "[1]", "1000"]),
    ({"type": "array", "items": {"type": "number"}, "minItems": 2,
      "maxItems": 3},
     ["[1,2]", "[ 1, -2.5,3e10 ]", "[\n0,0\n]"],
     ["[]", "[1]", "[1,2,3,4]", "[1,2", "[1,,2]", "[1,2.]", "[1,.5]",
      "[1,2e]", "[true,1]"]),
    ({"type": "integer", "minimum": 0, "maximum": 120},
     ["0", "9", "99", "100", "120"],
     ["121", "-1", "200", "1000", "1.5", "00", "-"]),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 1},
     ["1", "0.5", "0.000001", "1.0", "0.999999"],
     ["0", "0.0", "1.000001", "-0.1", "2", "10", "0.", "1."]),
    ({"minimum": -12.5, "exclusiveMaximum": -3, "type": "number"},
     ["-12.5", "-3.1", "-12", "-4", "-3.000001"],
     ["-12.6", "-3", "-2.9", "-13", "3.5", "-1", "-100"]),
    ({"type": "object"},
     ["{}", '{"a":[1,{"b":null}],"c":{}}', '{ "x": true }'],
     ["[]", "null", '{"a"}', '{"a":}', "{a:1}", '{"a":1 "b":2}', ""]),
    ({"$defs": {"n": {"type": "object", "properties": {
        "v": {"type": "integer"}, "c": {"type": "array",
                                        "items": {"$ref": "#/$defs/n"}}},
        "required": ["v", "c"], "additionalProperties": False}},
      "$ref": "#/$defs/n"},
     ['{"v":1,"c":[]}', '{"v":1,"c":[{"v":2,"c":[{"v":3,"c":[]}]}]}'],
     ['{"v":1}', '{"v":1,"c":[{"v":2}]}', '{"v":1,"c":[1]}']),
    ({"anyOf": [{"type": "object", "properties": {
        "kind": {"const": "cat"}, "lives": {"type": "integer"}},
        "required": ["kind", "lives"], "additionalProperties": False},
        {"type": "object", "properties": {
            "kind": {"const": "cow"}, "milk": {"type": "boolean"}},
         "required": ["kind", "milk"], "additionalProperties": False}]},
     ['{"kind":"cat","lives":9}', '{"kind":"cow","milk":true}'],
     ['{"kind":"cat","milk":true}', '{"kind":"cow","lives":9}',
      '{"kind":"car"}']),
]


def cases(out):
    r = random.Random(5)
    with open(out, "w") as f:
        for schema, good, bad in HAND:
            assert all(valid(schema, t) for t in good), schema
            assert not any(valid(schema, t) for t in bad), schema
            f.write(json.dumps({"schema": schema, "good": good, "bad": bad},
                               ensure_ascii=False) + "\n")
        for i in range(60):
            schema = Schemas(1000 + i).root()
            w = Writer(schema, r)
            good = sorted({w.document(schema) for _ in range(6)})
            bad = {spoil(r.choice(good), r) for _ in range(12)}
            bad = sorted(t for t in bad if not valid(schema, t))
            assert all(valid(schema, t) for t in good), (schema, good)
            f.write(json.dumps({"schema": schema, "good": good, "bad": bad},
                               ensure_ascii=False) + "\n")


def write_random(out, seed, n):
    with open(out, "w") as f:
        for i in range(n):
            f.write(json.dumps(Schemas(seed + i).root(),
                               ensure_ascii=False) + "\n")


def read_schemas(path):
    return [json.loads(line) for line in open(path)]


def check(schemas, path):
    schemas, good, bad = read_schemas(schemas), 0, 0
    for line in open(path, newline="\n"):
        i, text = line[:-1].split("\t", 1)
        text = text.replace("\\\\", "\0").replace("\\n", "\n").replace(
            "\0", "\\")
        if valid(schemas[int(i)], text):
            good += 1
        else:
            bad += 1
            print("invalid:", i, repr(text)[:300])
    print(good, "valid,", bad, "invalid")


def run(schemas, generate, model, each, options):
    ends = {"eos": 0, "length": 0}
    bad = 0
    for i, schema in enumerate(read_schemas(schemas)):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(schema, f)
            f.flush()
            out = subprocess.run(
                [generate, "run", "-q", "-m", model, "--schema", f.name,
                 "--count", str(each), "-s", str(i), *options],
                stdout=subprocess.PIPE, check=True).stdout.decode()
        for line in out.split("\n")[:-1]:
            j = json.loads(line)
            ends[j["finish_reason"]] += 1
            if j["finish_reason"] == "eos" and not valid(schema, j["text"]):
                bad += 1
                print("invalid:", i, json.dumps(schema)[:300], repr(j["text"])[:300])
    print(ends, "invalid of those that ended:", bad)


if __name__ == "__main__":
    a = sys.argv[1:]
    if a[0] == "cases":
        cases(a[1])
    elif a[0] == "random":
        write_random(a[1], int(a[2]), int(a[3]))
    elif a[0] == "check":
        check(a[1], a[2])
    else:
        run(a[1], a[2], a[3], int(a[4]), a[5:])
