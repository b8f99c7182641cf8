#!/usr/bin/env python3
"""Write tests/golden/config/missing.json: how transformers reads config.json.

Run by hand: scripts/oracle/config_missing.py > tests/golden/config/missing.json
Each family of lib/model/config/family.c and each type of config_renamed.c has a small configuration:
  full     its config.json, whose values differ from the defaults of the class
  want     the values that transformers reads; a list has a number for each block
  missing  for a key: the members of `want` that change if the key is missing;
           key "": if all keys but model_type are missing
  changed  for a key: a value with which transformers computes other logits or
           makes parameters of another shape
If transformers refuses a changed config.json, the key has no entry.
"""
import copy, json, logging, os, sys, warnings
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.simplefilter("ignore")
import torch, transformers
from transformers import AutoModel, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from config_attrs import RENAMED, TYPES, aliases, base, keys_of, rows

torch.set_num_threads(1)
transformers.PreTrainedModel._init_weights = lambda self, module: None

BASE = dict(vocab_size=96, hidden_size=256, intermediate_size=48, num_hidden_layers=4, num_attention_heads=64,
    num_key_value_heads=2, head_dim=8, max_position_embeddings=64, rms_norm_eps=1e-3, initializer_range=0.05,
    bos_token_id=5, eos_token_id=6, pad_token_id=7, rope_theta=777.0, sliding_window=8, query_pre_attn_scalar=20,
    attn_logit_softcapping=3.0, final_logit_softcapping=5.0, attention_multiplier=0.3, embedding_multiplier=2.0,
    residual_multiplier=0.5, logits_scaling=4.0, original_max_position_embeddings=32, use_sliding_window=True,
    max_window_layers=2, no_rope_layer_interval=3, num_experts=4, num_local_experts=4, num_experts_per_tok=2,
    moe_intermediate_size=24, shared_expert_intermediate_size=40, decoder_sparse_step=2, linear_conv_kernel_dim=3,
    linear_key_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_value_head_dim=8,
    full_attention_interval=2, sliding_window_pattern=3, kv_lora_rank=16, q_lora_rank=24, qk_nope_head_dim=8,
    qk_rope_head_dim=4, v_head_dim=8, n_group=4, topk_group=2, n_routed_experts=16, n_shared_experts=3,
    first_k_dense_replace=1, routed_scaling_factor=1.7, rope_local_base_freq=55.0, layer_norm_eps=1e-4, logit_scale=0.3)
# what retort does not implement, or what does not go together
OWN = {
    "gemma3_text": dict(attn_logit_softcapping=None, final_logit_softcapping=None),
    "smollm3": dict(use_sliding_window=False, sliding_window=None),
    "lfm2": dict(norm_eps=1e-3, conv_L_cache=2, block_multiple_of=12, block_ffn_dim_multiplier=1.7,
        intermediate_size=50, layer_types=["conv", "full_attention"] * 2),
    "qwen2_moe": dict(use_sliding_window=False), "qwen3_moe": dict(use_sliding_window=False),
    "olmoe": dict(sliding_window=None),
    "deepseek_v2": dict(num_key_value_heads=64, topk_method="group_limited_greedy", num_experts_per_tok=3),
    # without rope_parameters, transformers 5 takes no other base
    "apertus": dict(rope_theta=12e6),
    "gpt_neox": dict(num_attention_heads=8, rotary_pct=0.5, rotary_emb_base=777, hidden_act="gelu_new"),
    "gpt2": dict(n_embd=48, n_head=6, n_layer=4, n_inner=40, n_positions=64, layer_norm_epsilon=1e-4,
        activation_function="gelu"),
    "exaone4": dict(rms_norm_eps=1e-3),
    "glm4": dict(attention_bias=False, partial_rotary_factor=0.75), "glm": dict(partial_rotary_factor=0.75),
    "phi": dict(num_attention_heads=32, partial_rotary_factor=0.75, hidden_act="gelu"),
    "starcoder2": dict(norm_epsilon=1e-4, use_bias=False, hidden_act="gelu"),
    "ministral": dict(layer_types=["full_attention", "sliding_attention"] * 2),
    "granitemoehybrid": dict(num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=40,
        layer_types=["full_attention"] * 4, position_embedding_type="rope"),
    # sections of RoPE span a head of 128
    "qwen2_5_vl_text": dict(num_attention_heads=2),
    "qwen3_vl_text": dict(num_attention_heads=2, head_dim=128),
    "glm4_moe_lite": dict(num_key_value_heads=64, num_experts_per_tok=3),
    "youtu": dict(num_key_value_heads=64, head_dim=4),
    "deepseek_v3": dict(num_key_value_heads=128, num_attention_heads=128, num_experts_per_tok=3),
}
WITHOUT = {
    "qwen3_moe": {"num_experts_per_tok"}, "olmoe": {"num_experts_per_tok"},
    "qwen3_5_text": {"linear_num_key_heads"},
    "qwen3_next": {"linear_num_key_heads", "num_experts_per_tok"},
    "qwen3_5_moe_text": {"linear_num_key_heads", "num_experts_per_tok"},
    "deepseek_v2": {"", "n_group", "topk_group", "num_experts_per_tok", "num_attention_heads", "v_head_dim"},
    "deepseek_v3": {"v_head_dim"}, "ministral": {"", "head_dim"},
    # without these, it has Mamba blocks or experts
    "granitemoehybrid": {"", "num_local_experts", "layer_types", "position_embedding_type"},
    "qwen2_5_vl_text": {"num_key_value_heads"}, "qwen3_vl_text": {"num_key_value_heads"},
    "glm4_moe_lite": {"n_group", "v_head_dim", "num_attention_heads", "num_key_value_heads"},
    "youtu": {"v_head_dim", "num_attention_heads", "num_key_value_heads", "head_dim", "qk_rope_head_dim"},
}
for t, _ in RENAMED:
    for k, v in (base | keys_of(t)[0]).items():
        rows[k, json.dumps(v)].append(t)
IDS = torch.arange(5, 60)[None] % 90


def full_config(t):
    mine = {n for (n, _), of in rows.items() if t in of}
    j = {k: v for k, v in BASE.items() if k in mine}
    for (n, v), of in rows.items():
        if t in of and v in ("true", "false") and n in ("tie_word_embeddings", "norm_topk_prob"):
            j[n] = v != "true"
    for k in {"deepseek_v2": ["norm_topk_prob"], "olmoe": ["head_dim"],
            "deepseek_v3": ["head_dim"], "gpt_neox": ["head_dim", "rope_theta"], "gpt2": ["rope_theta"], "qwen2_5_vl_text": ["head_dim"], "ministral3": ["rope_theta"]}.get(t, []):
        del j[k]
    return dict(model_type=t, **j) | OWN.get(t, {})


def want(j):
    """What retort's struct config has, from transformers' classes."""
    c = CONFIG_MAPPING[j["model_type"]].from_dict(dict(j))
    text = type(c) not in AutoModelForCausalLM._model_mapping     # a part of a model that sees
    with torch.device("meta"):
        m = (AutoModel if text else AutoModelForCausalLM).from_config(c)
    m.tie_weights()
    g = lambda name, other=0: getattr(c, name, None) if getattr(c, name, None) is not None else other
    types = g("layer_types", ["sliding_attention" if g("sliding_window") else "full_attention"] * c.num_hidden_layers)
    rope, local = getattr(c, "rope_parameters", None) or dict(rope_theta=1e4), {}
    if "full_attention" in rope:
        rope, local = rope["full_attention"], rope["sliding_attention"]
    layers = getattr(m.base_model, "layers", None) or m.base_model.h
    mla = hasattr(c, "kv_lora_rank")
    first = lambda v: v[0] if isinstance(v, list) else v
    token = lambda v: first(v) if v is not None and first(v) < c.vocab_size else -1
    w = dict(V=c.vocab_size, d=c.hidden_size, mlp=layers[0].feed_forward.w1.out_features
        if hasattr(layers[0], "feed_forward") else layers[0].mlp.c_fc.nf if hasattr(m.base_model, "wpe") else g("shared_intermediate_size", g("intermediate_size", g("shared_expert_intermediate_size"))), L=c.num_hidden_layers,
        H=c.num_attention_heads, KV=g("num_key_value_heads", c.num_attention_heads), D=c.qk_head_dim if mla else getattr(layers[-1].self_attn
        if hasattr(layers[-1], "self_attn") else getattr(layers[-1], "linear_attn", None), "head_dim",
        g("head_dim", c.hidden_size // c.num_attention_heads)),
        max_pos=c.max_position_embeddings, window=[g("sliding_window") if x == "sliding_attention" else 0
        for x in types], eps=g("rms_norm_eps", g("layer_norm_eps", g("norm_eps", g("layer_norm_epsilon", g("norm_epsilon"))))), init_range=c.initializer_range, theta=rope["rope_theta"],
        theta_local=local.get("rope_theta", 0), tied=int(g("tie_word_embeddings")), bos=token(g("bos_token_id", None)),
        eos=token(g("eos_token_id", None)), pad=token(g("pad_token_id", None)), rope_factor=rope.get("factor", 0),
        no_rope=[1 - x for x in g("no_rope_layers", [int(not hasattr(m.base_model, "wpe"))] * c.num_hidden_layers)],
        rotary=int((c.qk_rope_head_dim if mla else g("head_dim", c.hidden_size // c.num_attention_heads))
            * rope.get("partial_rotary_factor", 1)),
        attn_scalar=g("query_pre_attn_scalar"), attn_cap=g("attn_logit_softcapping"),
        final_cap=g("final_logit_softcapping"), attn_scale=g("attention_multiplier"),
        embed_scale=g("embedding_multiplier"), residual_scale=g("residual_multiplier"),
        logit_scale=g("logits_scaling"))
    if g("logit_scale"):
        w["logit_factor"] = c.logit_scale
    if c.model_type == "gpt_neox":
        w |= dict(parallel=int(c.use_parallel_residual), attn_bias=int(c.attention_bias),
            exact_gelu=int(c.hidden_act == "gelu"))
    if c.model_type == "gpt2":
        w |= dict(exact_gelu=int(c.activation_function == "gelu"))
    if c.model_type == "starcoder2":
        w |= dict(attn_bias=int(c.use_bias), exact_gelu=int(c.hidden_act == "gelu"))
    if c.model_type in ("glm", "glm4"):
        w |= dict(attn_bias=int(c.attention_bias))
    if c.model_type == "phi":
        w |= dict(exact_gelu=int(c.hidden_act == "gelu"))
    if c.model_type == "exaone4":
        w["no_rope"] = [int(x == "full_attention" and c.sliding_window is not None) for x in types]
    if c.model_type == "cohere2":
        w["no_rope"] = [int(x == "full_attention") for x in types]
    n = g("num_local_experts", g("num_experts", g("n_routed_experts")))
    if n:
        width = g("moe_intermediate_size", g("intermediate_size"))
        w |= dict(experts=n, used=c.num_experts_per_tok, expert_mlp=width, scale=g("routed_scaling_factor", 1),
            shared=g("shared_expert_intermediate_size", g("n_shared_experts") * width),
            dense=[int(not hasattr(x.mlp, "experts")) for x in layers])
    w["params"] = sum(p.numel() for p in m.parameters()) + sum(b.numel() for n, b in m.named_buffers()
        if "e_score_correction_bias" in n or "act_fn" in n) + (0 if g("tie_word_embeddings") or not text else c.vocab_size * c.hidden_size)
    return w


def logits(j, state=None):
    torch.manual_seed(1)
    c = CONFIG_MAPPING[j["model_type"]].from_dict(dict(j))
    m = (AutoModelForCausalLM if type(c) in AutoModelForCausalLM._model_mapping else AutoModel).from_config(c).eval()
    if state is None:
        with torch.no_grad():
            for p in m.parameters():
                p.normal_(0, 0.05)
    else:
        m.load_state_dict(state)
    with torch.no_grad():
        out = m(IDS, use_cache=False)
        return getattr(out, "logits", out[0]), m.state_dict()


def changes(j, state, ref):
    """Does transformers make other logits of j, or parameters of another shape?  None: it refuses j."""
    try:
        return not torch.equal(logits(j, state)[0], ref)
    except RuntimeError as e:
        return any(x in str(e) for x in ("size mismatch", "Missing key", "Unexpected key")) or None
    except Exception:
        return None


def others(v):
    """Values unlike v."""
    if isinstance(v, bool):
        return [not v]
    if isinstance(v, (int, float)):
        return [v * 2, v + 1]
    if isinstance(v, str):
        return ["gelu", "relu", "greedy"]
    return [True, 0.1, {"0": {"hidden_act": "relu"}}, ["sliding_attention", "full_attention"] * 2]


def main():
    print('{\n"": "made by scripts/oracle/config_missing.py with transformers %s, torch %s, seed 1"'
        % (transformers.__version__, torch.__version__), end="")
    for t in sys.argv[1:] or TYPES + [t for t, _ in RENAMED]:
        full = full_config(t)
        base = want(full)
        entry = dict(full=full, want=base, missing={}, changed={})
        for k in ["", *full]:
            if k == "model_type" or k in WITHOUT.get(t, ()):
                continue
            try:
                w = want({"model_type": t} if k == "" else {x: v for x, v in full.items() if x != k})
            except Exception as e:
                print(t, k, repr(e)[:150], file=sys.stderr)
                continue
            entry["missing"][k] = {x: v for x, v in w.items() if v != base[x]}
        ref, state = logits(full)
        for k, v in sorted(((n, json.loads(v)) for (n, v), of in rows.items() if t in of), key=lambda x: x[0]):
            if k in ("rope_parameters", "rope_scaling", "model_type"):
                continue
            found = [o for o in others(full.get(k, v)) if changes(full | {k: o}, state, ref)]
            if found:
                entry["changed"][k] = found[0]
        for k, v in sorted(((n, json.loads(v)) for (n, v), of in rows.items() if t not in of), key=lambda x: x[0]):
            if k not in full and not any(k in n and t in of for n, of in (rows | aliases).items()) and any(
                    changes(full | {k: o}, state, ref) for o in others(v)[:1]):
                print("%s: %s has no row, but changes logits" % (t, k), file=sys.stderr)
        print(',\n"%s": {\n' % t + ",\n".join('"%s": %s' % (k, json.dumps(v, separators=(",", ":")))
            for k, v in entry.items()) + "}", end="", flush=True)
        print(t, len(entry["missing"]), len(entry["changed"]), file=sys.stderr)
    print("\n}")


main()
