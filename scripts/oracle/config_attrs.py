#!/usr/bin/env python3
"""Write the keys of config.json that transformers reads: config_attrs.txt,
config_aliases.txt and config_renamed.json of lib/model/config.

Run by hand, without arguments.
The rows of a family are the fields of its configuration class, the keys that
methods of this class take from kwargs, and the attributes that the classes of
its text model read.  Rows that all families have are written once.  The families
are those of lib/model/config/family.c.
"""
import ast, collections, dataclasses, inspect, json, os, re, sys, textwrap
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch, transformers
from transformers import AutoModel, AutoModelForCausalLM, PreTrainedConfig
from transformers.modeling_rope_utils import RotaryEmbeddingConfigMixin
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TYPES = re.findall(r'\.type = "(\w+)"', open(TOP + "/lib/model/config/family.c").read())
RENAMED = re.findall(r'\.type = "(\w+)",\s*\.is = "(\w+)"', open(TOP + "/lib/model/config/config_renamed.c").read())
SMALL = dict(num_hidden_layers=2, hidden_size=64, intermediate_size=64, vocab_size=64, pad_token_id=None,
    num_attention_heads=4, num_key_value_heads=4)
# without these a model cannot be made, or has blocks of another kind
MADE = dict(ministral=dict(head_dim=16), granitemoehybrid=dict(layer_types=["full_attention"] * 2,
    num_local_experts=0), lfm2=dict(layer_types=["conv", "full_attention"]))
# read by functions that models share: masking_utils, modeling_rope_utils; transformers 4's base class
SHARED = dict(is_causal=True, original_max_position_embeddings=None, pruned_heads={}, add_cross_attention=False,
    tie_encoder_decoder=False, tie_word_embeddings=False)


class Other(str):
    """The key that another key is a name for."""


def taken(cls, names):
    """The keys that methods of cls take from kwargs: name to value if it is missing."""
    found = {}
    for name in names:
        if name not in cls.__dict__:
            continue
        for n in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(getattr(cls, name))))):
            if (isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.args
                    and n.func.attr in ("get", "pop", "setdefault")
                    and getattr(n.func.value, "id", "") == "kwargs" and isinstance(n.args[0], ast.Constant)):
                v = n.args[1] if len(n.args) > 1 else None
                if isinstance(v, ast.Attribute) and v.attr == "default_theta":
                    continue  # another name of rope_theta, which config_rope.c reads
                # self.this = kwargs.pop("that", self.this): another name
                found[n.args[0].value] = Other(v.attr) if isinstance(v, ast.Attribute) else v.value if isinstance(v, ast.Constant) else None
            if (isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.In) and isinstance(n.left, ast.Constant)
                    and getattr(n.comparators[0], "id", "") == "kwargs"):
                found[n.left.value] = None
    return found


def read_by_model(cls):
    """The attributes of the configuration that the text model's classes read."""
    with torch.device("meta"):
        kind = AutoModelForCausalLM if cls in AutoModelForCausalLM._model_mapping else AutoModel
        m = kind.from_config(cls(**SMALL | MADE.get(cls.model_type, {})))
    found = {}
    for k in {k for x in m.modules() for k in type(x).__mro__ if k.__module__ == type(m).__module__}:
        for n in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(k)))):
            if isinstance(n, ast.Attribute) and ast.unparse(n.value) in ("config", "self.config"):
                found.setdefault(n.attr, None)
            if (isinstance(n, ast.Call) and getattr(n.func, "id", "") == "getattr" and len(n.args) > 1
                    and ast.unparse(n.args[0]) in ("config", "self.config")):
                v = n.args[2] if len(n.args) > 2 else None
                found[n.args[1].value] = v.value if isinstance(v, ast.Constant) else None
    return found


def default_rope(cls):
    """rope_parameters that the class sets if a file has none; None: as most classes do."""
    p = getattr(cls(rope_theta=12345.0), "rope_parameters", None)
    if not p:
        return None
    if any(isinstance(v, dict) for v in p.values()) or p["rope_type"] == "default":
        return None
    return {k: v for k, v in p.items() if v != 12345.0}


base = {f.name: f.default for f in dataclasses.fields(PreTrainedConfig)}
base |= taken(PreTrainedConfig, ["__post_init__"]) | taken(RotaryEmbeddingConfigMixin, ["convert_rope_params_to_dict"])
base |= SHARED


def keys_of(t):
    """The family's own keys with their values, and other names of keys."""
    cls = CONFIG_MAPPING[t]
    fields = {f.name: f.default for f in dataclasses.fields(cls) if not isinstance(f.default, AttributeError)}
    gone = {f.name for f in dataclasses.fields(cls)} - set(fields)
    made = cls()
    wide = vars(cls(hidden_size=2 * made.hidden_size))
    # a value that follows from others is null
    own = {k: v if wide[k] == v else None for k, v in vars(made).items()
        if not k.startswith("_") and k not in fields}
    own = read_by_model(cls) | own | taken(cls, ["__post_init__", "convert_rope_params_to_dict"]) | fields
    # ids that a missing list becomes
    own |= {k: v for k, v in vars(made).items() if k.endswith("_token_id") and isinstance(v, list)}
    own |= dict(rope_parameters=default_rope(cls))
    theta = cls.default_theta
    own["rope_theta"] = theta["global"] if isinstance(theta, dict) else float(theta)
    other = {}
    for k, v in list(own.items()):
        if isinstance(v, Other):
            other[k] = own.pop(k)
    for k, v in cls.attribute_map.items():
        old, new = (k, v) if k not in fields else (v, k)
        other[old] = new
        own.pop(old, None)
    return {k: v for k, v in own.items() if not (k in gone or callable(getattr(cls, k, None))
        or k.startswith("_") or isinstance(v, set)) and (k not in base
        or (k in fields and k not in vars(PreTrainedConfig)) or v != base[k])}, other


rows, aliases = collections.defaultdict(list), collections.defaultdict(list)
for t in TYPES:
    own, other = keys_of(t)
    for k, v in other.items():
        aliases[k, v].append(t)
    for k, v in own.items():
        rows[k, json.dumps(v)].append(t)


def mask(types):
    """The families as an expression of bits."""
    name = lambda t: "FAMILY_" + re.sub("_TEXT$", "", t.upper())
    if len(types) <= len(TYPES) // 2:
        return "|".join(name(t) for t in types)
    rest = [name(t) for t in TYPES if t not in types]
    return "~(%s)" % "|".join(rest) if rest else "0"


for k, v in base.items():
    rest = [t for t in TYPES if not any(n == k and t in of for (n, _), of in rows.items())]
    if rest:
        rows[k, json.dumps(v)] += rest


def renamed(t, family):
    """Keys of a model type in lib/model/config/config_renamed.c, beside those of its family."""
    own, other = keys_of(t)
    theirs = {k: json.loads(v) for (k, v), of in rows.items() if family in of}
    old = {k for (k, _), of in aliases.items() if family in of} - set(other)
    plain = base | {k: json.loads(v) for (k, v), of in rows.items() if len(of) == len(TYPES)}
    mine = {k: json.loads(json.dumps(v)) for k, v in (base | own).items() if k != "rope_theta" or v}
    values = {k: v for k, v in mine.items() if k in theirs and v != theirs[k]}
    more = {k: v for k, v in mine.items() if k not in theirs and k not in base and k not in other}
    less = sorted(k for k in ((set(theirs) - set(plain)) | old) - set(mine) - set(other) if "_token_id" not in k)
    # jansson reads no Infinity
    return json.loads(json.dumps(dict(values=values, more=more, less=less), sort_keys=True),
        parse_constant=lambda c: None)


def write(name, text):
    with open(TOP + "/lib/model/config/" + name, "w") as f:
        f.write(text)


def main():
    made = "Made by scripts/oracle/config_attrs.py with transformers %s." % transformers.__version__
    write("config_attrs.txt", """# The keys of config.json that transformers reads in each family, with its values
# where a key is missing:
# KEY FAMILIES VALUE, the families as an expression of C, 0: all; VALUE: as JSON
# %s
""" % made + "".join("%s %s %s\n" % (k, mask(t), v) for (k, v), t in sorted(rows.items())))
    write("config_aliases.txt", """# Other names of keys in config_attrs.txt:
# NAME FAMILIES KEY WINS, WINS 1: of the two, the value of NAME is taken
# %s
""" % made + "".join("%s %s %s %d\n" % (old, mask(t), new, isinstance(new, Other))
        for (old, new), t in sorted(aliases.items())))
    write("config_renamed.json", json.dumps({t: renamed(t, family) for t, family in RENAMED}, indent=1) + "\n")


if __name__ == "__main__":
    main()
