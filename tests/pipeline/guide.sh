#!/bin/sh
# Every indented command of docs/guide.md, in its order, in one folder: with a
# tiny model in place of the one that is fetched, and at tiny sizes.
. "${0%/*}/../lib/lib.sh"
command -v bash >/dev/null || {
    skip 'guide' 'no bash, which knows when any part of a pipe has failed'
    done_testing
}

# --- a source tree that is built, a model that is fetched, two folders ---
mkdir -p tree/build tree/scripts tree/texts tree/held-out
cp -r "$BUILD/bin" tree/build/bin
ln -s "$top/recipes" "$top/corpus" tree/
ln -s "$top"/scripts/* tree/scripts/
rm tree/scripts/get-model
cat >tree/scripts/get-model <<END
[ "\$1" != -l ] || { echo smollm2-135m; exit; }
mkdir -p "\$2" && cp "$top/tests/golden/gguf/f32.gguf" "\$2/\$1.gguf"
END
chmod +x tree/scripts/get-model
# a program that reads Parquet is not needed here: it writes the same lines
mkdir other
cat >other/duckdb <<'END'
#!/bin/sh
case $2 in "COPY ("*"language = 'de'"*"'/dev/stdout' (FORMAT json)") ;; *) exit 1 ;; esac
printf '{"text":"Am Fluss\nDas Wasser steigt seit drei Tagen %s."}\n' 1 2 3
END
chmod +x other/duckdb
PATH=$PWD/other:$PATH
printf 'all:\n\t@echo the programs are built\n' >tree/Makefile
for i in 1 2 3 4 5 6 7 8; do
    sed -n "${i}s/.*\"text\": *\"\\([^\"\\\\]*\\).*/\\1/p" "$top/corpus/en.jsonl" \
        >tree/texts/$i.txt
done
for i in 1 2 3 4; do
    sed -n "${i}s/.*\"text\": *\"\\([^\"\\\\]*\\).*/\\1/p" \
        "$top/corpus/held-out/en.jsonl" >tree/held-out/$i.txt
done

# --- blocks of commands, and sizes that are tiny ---
awk '/^    / { if (!on) n++; on = 1; print substr($0, 5) >("block." n); next }
    { on = 0 }' "$top/docs/guide.md"
# sizes of the recipe
export PARAMS=30K T=32 B=2 WARMUP=1 SAVE=2 CALIB_ROWS=2 CANDIDATES=0 \
    CONTEXT=32
n=0
while n=$((n + 1)) && [ -f block.$n ]; do
    sed 's/-B 4 -T 512/-B 2 -T 32/; s/--batches 100/--batches 4/
        s/--save 25/--save 2/; s/--warmup 10/--warmup 1/; s/-n 20/-n 3/
        s/--tokens 204800/--tokens 1024/
        s/--max-time 30m/--tokens 200/; s/--max-time 2h/--tokens 300/' \
        block.$n >sized
    case $(cat block.$n) in
    # The power cut that the page speaks of.
    *'--resume run'*) rm -r tree/run/step-4 tree/run/model.safetensors ;;
    esac
    ok "the guide: $(head -n 1 block.$n)" sh -c \
        'cd tree && timeout 100 bash -e -o pipefail ../sized'
    case $(cat block.$n) in
    *'--resume run'*)
        same 'a run that was stopped ends in the bytes of one that was not' \
            tree/run/model.safetensors before ;;
    *'-o run --lr'*) cp tree/run/model.safetensors before ;;
    *'--compare'*) like 'the compared runs have standard errors' '[0-9] standard errors' out ;;
    esac
done
[ $n -gt 10 ] || fail "only $n blocks of commands in docs/guide.md"
for f in smollm2-135m-distilled/report.html run/report.html run.gguf; do
    if [ -s "tree/$f" ]; then pass "the guide leaves $f"
    else fail "the guide leaves $f"; fi
done
done_testing
