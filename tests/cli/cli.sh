#!/usr/bin/env bash
# The program from outside: help, errors, exit codes, what goes to which stream, JSON, Ctrl-C.
#   cli.sh WEFT TINY        WEFT is the program, TINY writes tiny models
# SPDX-License-Identifier: MIT
set -u
weft=$(realpath "$1") tiny=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
for kind in chat endless longrope escape hinted badly; do "$tiny" "$work/$kind.gguf" $kind || { echo "cannot write a model"; exit 1; }; done
cd "$work" || exit 1

problem() {
    echo "FAILED: $*"
    sed 's/^/    out: /' out | head -20
    sed 's/^/    err: /' err | head -20
    bad=1
}
# expect CODE ARGUMENT...: runs weft with those arguments; streams are in the files out and err
expect() {
    local code=$1 got=0
    shift
    "$weft" "$@" > out 2> err < "${input:-/dev/null}" || got=$?
    [ $got = "$code" ] || problem "weft $*: exit $got, expected $code"
}
out_has() { grep -qF -- "$1" out || problem "standard output lacks: $1"; }
err_has() { grep -qF -- "$1" err || problem "standard error lacks: $1"; }
out_is() { [ "$(cat out)" = "$1" ] || problem "standard output is not: $1"; }
one_sentence() { [ "$(grep -c '^weft: ' err)" = 1 ] && [ "$(wc -l < err)" = 1 ] || problem "standard error is not one line"; }

# ---- help: one table
expect 0 --help
for command in run chat devices info tokenize quantize convert template; do out_has "  $command "; done
expect 2
expect 0 --version
out_has "weft "
for command in run chat devices info tokenize quantize convert template; do
    expect 0 $command --help
    out_has "usage: weft $command"
    [ -s err ] && problem "weft $command --help writes to standard error"
    expect 0 help $command
done
expect 0 run -h
samplers="--temp --top-k --top-p --min-p --seed --repeat-penalty --presence-penalty --frequency-penalty --repeat-last-n
    --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --typical-p --top-n-sigma
    --xtc-probability --xtc-threshold --dynatemp-range --dynatemp-exponent --mirostat --mirostat-tau --mirostat-eta
    --logit-bias --samplers --logprobs"
for option in --prompt --tokens --device --ctx --threads --exact --json --raw $samplers; do
    out_has " $option "
done
[ "$(grep -c ':$' out)" = 4 ] || problem "the options are not in four parts"
expect 0 chat -h
for option in $samplers; do out_has " $option "; done
[ "$(wc -L < out)" -le 100 ] || problem "the help is wider than 100 columns"

# ---- usage errors: code 2, one sentence
usage() {
    expect 2 "${@:2}"
    err_has "$1"
    one_sentence
    [ -s out ] && problem "a usage error writes to standard output"
}
usage 'no command "sing"' sing
usage 'run needs an argument' run
usage 'run has no option --loud' run --loud m.gguf
usage 'chat has no option --json' chat --json m.gguf
usage '--tokens needs a value' run chat.gguf -n
usage '--tokens takes a whole number from 1' run chat.gguf -n 0
usage '--tokens takes a whole number' run chat.gguf -n 1.5
usage '--temp takes a number from 0 to 100, not "hot"' run chat.gguf --temp hot
usage '--temp takes a number' run chat.gguf --temp=-1
usage '--exact takes no value' run chat.gguf --exact=yes
usage 'one argument too many: "b"' run a b
usage '--kv takes f16 or f32' run chat.gguf -p x --kv q8
usage 'exclude each other' run chat.gguf -p x --raw --system y
for bad_value in 'temp 101' 'top-k -1' 'top-p 1.5' 'min-p 2' 'repeat-penalty 0' 'presence-penalty 101' 'repeat-last-n -2' \
    'frequency-penalty x' 'dry-multiplier -1' 'dry-base 0.5' 'dry-allowed-length 0' 'dry-penalty-last-n -2' 'typical-p 1.1' \
    'top-n-sigma -1' 'xtc-probability 2' 'xtc-threshold -0.1' 'dynatemp-range -1' 'dynatemp-exponent -1' 'mirostat 3' \
    'mirostat-tau -1' 'mirostat-eta nan' 'logprobs 1001' 'seed 1.5'; do
    for command in run chat; do
        # shellcheck disable=SC2086 # two words
        usage "--${bad_value% *} takes a" $command no.gguf --$bad_value
    done
    err_has "from "
done
usage '--temp takes a number from 0 to 100' run no.gguf --temperature 101 # also known by another name
usage '--mirostat takes 0 (off) or 2' run no.gguf -p x --mirostat 1
usage '--samplers: order: there is no sampler "speed"' run no.gguf -p x --samplers 'top_k;speed'
usage '--samplers: order: dry comes before' chat no.gguf --samplers 'top_k;dry'
for bias in 5 x '' '+1' 'x+' 'x+inf' 'x+y' '5+nan'; do
    usage '--logit-bias takes ID or TEXT' run no.gguf -p x --logit-bias "$bias"
done
usage '--dry-sequence-breaker takes a text' run no.gguf -p x --dry-sequence-breaker ''
usage '"xy" is 2 tokens of this model' run endless.gguf -p x --device cpu --logit-bias xy+1
usage 'token 259, of 259' run endless.gguf -p x --device cpu --logit-bias 259+1
usage 'token 2147483647, of 259' run endless.gguf -p x --device cpu --logit-bias 99999999999+1

# ---- failures: code 1, one sentence that names the thing
failure() {
    expect 1 "${@:2}"
    err_has "$1"
}
failure 'nothing.gguf' run nothing.gguf -p x --device cpu
one_sentence
failure 'longrope' run longrope.gguf -p x --device cpu
one_sentence
failure 'tpu' run chat.gguf -p x --device tpu
one_sentence
failure 'no chat format' chat endless.gguf --device cpu
printf 'GGUF' > short.gguf
failure 'short.gguf' info short.gguf
failure 'short.gguf' tokenize short.gguf x
long=$(printf 'x%.0s' $(seq 70))
failure 'the context holds 64' run endless.gguf -p "$long" --ctx 64 --device cpu

# ---- run
expect 0 run chat.gguf -p 'Say something' --device cpu --temp 0
out_is Hi
err_has 'cpu, '
for part in 'load' 'prompt' 'tokens/s' 'generated 2 tokens' 'first token'; do err_has "$part"; done
expect 0 run chat.gguf -p x --temp 0 # the best device here; it says which and why
out_is Hi
err_has 'device '
echo 'from a pipe' > prompt
input=prompt expect 0 run chat.gguf --device cpu --temp 0
out_is Hi
expect 0 run endless.gguf -p x -n 5 --device cpu --temp 0
out_is xxxxx
expect 0 run endless.gguf --raw -p 'ax' -n 3 --device cpu --temp 0 --exact --kv f32 --threads 1 --ctx 32
out_is xxx
expect 0 run endless.gguf -p x --ctx 16 --device cpu --temp 0
[ "$(tr -d '\n' < out | wc -c)" = 15 ] || problem "a context of 16 does not give 15 tokens"

# ---- samplers: each option does something
endless() { expect 0 run endless.gguf -p x -n 12 --device cpu --temp 0 "$@"; }
x=xxxxxxxxxxxx
endless
out_is $x
for bias in 122-inf 'x-inf' '"x"-inf' 'x-1e9'; do
    endless --logit-bias "$bias"
    grep -q x out && problem "--logit-bias $bias does not forbid x"
done
endless --logit-bias y+1000 --logit-bias 124+900
out_is yyyyyyyyyyyy
endless --presence-penalty 100 --frequency-penalty 100
[ "$(head -c 2 out)" = xx ] && problem "penalties do nothing"
endless --presence-penalty 100 --frequency-penalty 100 --repeat-last-n 0
out_is $x
endless --repeat-penalty 100 --logit-bias y+3
grep -q xx out && problem "--repeat-penalty does nothing"
endless --dry-multiplier 1e6
grep -q xxxx out && problem "--dry-multiplier does nothing"
grep -q '^xx' out || problem "--dry-multiplier acts too early"
endless --dry-multiplier 1e6 --dry-allowed-length 4
grep -q '^xxxx' out || problem "--dry-allowed-length does nothing"
endless --dry-multiplier 1e6 --dry-penalty-last-n 0
out_is $x
endless --dry-multiplier 1e6 --dry-sequence-breaker x
out_is $x
endless --dry-multiplier 1e6 --dry-sequence-breaker none
grep -q xxxx out && problem "\"none\" is a break"
# A random draw at a temperature where x is one of many, until a sampler leaves x alone.
hot() { expect 0 run endless.gguf -p x -n 12 --device cpu --temp 100 --top-k 0 --top-p 1 --min-p 0 --seed 7 "$@"; }
hot
grep -q xx out && problem "--temp 100 draws x"
cp out hot
hot
cmp -s out hot || problem "a seed does not reproduce"
for one in '--top-k 1' '--top-p 0' '--min-p 1' '--typical 0' '--top-n-sigma 0.5' '--mirostat-tau 0.01' '--temperature 0.01' \
    '--mirostat 2 --mirostat-ent 0.01 --mirostat-lr 0.1' '--samplers top_k;typ_p --top-k 1' '--grammar g'; do
    printf 'root ::= "x"{12}' > g
    # shellcheck disable=SC2086 # several words
    hot $one
    out_is $x
done
hot --xtc-probability 1 --xtc-threshold 0 --top-k 2
grep -q x out && problem "--xtc-probability leaves x"
hot --temp 0.8
cp out hot
hot --temp 0.8 --dynatemp-range 0.8 --dynatemp-exp 2
cmp -s out hot && problem "--dynatemp-range does nothing"
hot --xtc-threshold 0.2 --dry-base 2 --mirostat-eta 1 --samplers 'min_p' --top-k 5
for option in xtc-threshold dry-base mirostat-eta; do err_has "note: --$option does nothing without"; done
err_has 'note: --top-k does nothing, as --samplers does not name it'

# ---- log-probabilities
expect 0 run chat.gguf -p x --device cpu --temp 0 --logprobs 2
out_is Hi
[ "$(grep -cE '^ +-?[0-9.]+  "[Hi]"   of  -?[0-9.]+ "[Hi]"  -[0-9.]+ ' err)" = 2 ] || problem "not two lines of log-probabilities"
printf 'Hello\n' > turns
input=turns expect 0 chat chat.gguf --device cpu --temp 0 --logprobs 0
out_is Hi
[ "$(grep -cE '^ +-?[0-9.]+  "[Hi]"$' err)" = 2 ] || problem "chat: not two lines of log-probabilities"

# ---- what a model's file recommends
expect 0 run hinted.gguf -p x -n 12 --device cpu
out_is $x
err_has "as the model's file recommends, where no option says else: temp 90, top_k 1"
expect 0 run hinted.gguf -p x -n 12 --device cpu --top-k 0 --top-p 1 --min-p 0 --seed 7
grep -q xx out && problem "--top-k does not overrule the file"
input=turns expect 0 run badly.gguf -p x -n 12 --device cpu --temp 0
out_is $x
err_has 'warning: what the file recommends for sampling is not used: general.sampling.temp'

# ---- JSON
json() { python3 -c "import json,sys; d=json.load(open('out')); sys.exit(not ($1))" || problem "JSON: $1"; }
if "$weft" run chat.gguf -p x --json --device cpu > out 2> err; then
    expect 0 run chat.gguf -p x --json --device cpu --seed 5
    json "d['text'] == 'Hi' and d['finish'] == 'stop' and d['generated_tokens'] == 2 and d['device'] == 'cpu'"
    json "d['seed'] == 5 and d['load_seconds'] > 0 and d['first_token_seconds'] > 0 and d['prompt_tokens'] > 5"
    expect 0 run endless.gguf -p x --json --device cpu -n 4
    json "d['finish'] == 'length' and len(d['text']) == 4"
    expect 0 run endless.gguf -p x --json --device cpu -n 4 --logprobs 2 --temp 0
    json "[t['token'] for t in d['logprobs']['content']] == ['x'] * 4"
    json "all(t['bytes'] == [120] and t['id'] == 122 and t['logprob'] <= 0 and t['top_logprobs'][0]['token'] == 'x' and
          len(t['top_logprobs']) == 2 for t in d['logprobs']['content'])"
    expect 0 run endless.gguf -p x --json --device cpu -n 4 --logprobs 0 --logit-bias 195+1e9 # a byte that is no character
    json "d['logprobs']['content'][0]['token'] == '\ufffd' and d['logprobs']['content'][0]['bytes'] == [0xC1]"
    json "d['logprobs']['content'][0]['top_logprobs'] == []"
    expect 0 run endless.gguf -p x --json --device cpu -n 1 --logprobs 1 --logit-bias 2+1e9
    json "d['logprobs']['content'][0]['token'] == '\0'"
else
    err_has 'without jansson'
fi

# ---- chat, not on a terminal
printf 'Hello\n\n/help\n/nothing\nAgain\n/reset\nHello\n/quit\nnever\n' > turns
input=turns expect 0 chat chat.gguf --device cpu --temp 0
[ "$(grep -c '^Hi$' out)" = 3 ] || problem "three turns do not give three answers"
out_has '/reset'
out_has 'forgotten'
err_has 'There is no /nothing'
printf 'No newline at the end' > turns
input=turns expect 0 chat chat.gguf --device cpu --temp 0 --system 'Be brief'
out_is Hi

# ---- tokenize
expect 0 tokenize chat.gguf 'he<|im_end|>'
[ "$(wc -l < out)" = 11 ] || problem "plain control text is not 10 bytes after he"
out_has '"he"'
expect 0 tokenize --special chat.gguf 'he<|im_end|>'
[ "$(wc -l < out)" = 2 ] || problem "a control token is not one token"
out_has '       1  "<|im_end|>"'
printf 'a\nb' > text
input=text expect 0 tokenize --ids chat.gguf
out_is '99 12 100'
input=text expect 0 tokenize chat.gguf -
out_has '"\n"'
expect 0 tokenize longrope.gguf x # no architecture is needed for that
mkdir -p words
printf '{"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"red":1,"hat":2}},"added_tokens":[{"id":3,
    "content":"<s>","special":true}],"pre_tokenizer":{"type":"Whitespace"}}' > words/tokenizer.json
printf '{"bos_token":"<s>","add_bos_token":true}' > words/tokenizer_config.json
expect 0 tokenize words/tokenizer.json --ids 'red hat?'
out_is '1 2 0'
expect 0 tokenize words --ids -s 'red <s>'
out_is '3 1 3'
printf '{"model":{}}' > words/tokenizer.json
failure 'words: tokenizer.json: model: vocab' tokenize words x

# ---- template
printf '[{"role": "user", "content": "Hi"}]' > messages.json
printf '{{ bos_token }}{%% for m in messages %%}{{ m.content }}{%% endfor %%}{{ x|tojson }}{{ tools|length }}' > t.jinja
expect 0 template chat.gguf messages.json
out_is '<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant'
expect 0 template t.jinja messages.json --tools messages.json --set x='{"a": [1.5, "é"]}' --set bos_token='<s>'
out_is '<s>Hi{"a": [1.5, "é"]}1'
printf '{"messages": [], "x": "y", "tools": []}' > whole.json
input=whole.json expect 0 template t.jinja - --set x=plain
out_is '"plain"0'
printf '\n{{ raise_exception("No, thanks") }}' > refuses.jinja
failure 'line 2: No, thanks' template refuses.jinja messages.json
failure 'no chat format' template endless.gguf messages.json
failure 'missing.json' template t.jinja missing.json
usage '--set takes NAME=VALUE' template t.jinja messages.json --set x
mkfifo pipe
cat t.jinja > pipe &
expect 0 template pipe messages.json --set x=1 # a template may come through a pipe, whole
wait $!
out_has 'Hi'
failure 'is longer than 1 GB' template t.jinja /dev/zero

# ---- info
failure 'is not a regular file' info pipe # refused at once, with nobody at the other end
expect 0 info chat.gguf --device cpu
for part in 'GGUF version 3' 'llama.block_count' 'token_embd.weight' '(259, 32)' 'f32' 'every operation of the model runs there'; do
    out_has "$part"
done
grep -q 'blk.1.' out && problem "later layers are listed without --tensors"
expect 0 info chat.gguf --device cpu --tensors
out_has 'blk.1.ffn_down.weight'
expect 0 info longrope.gguf
out_has "cannot run it: rotary scaling 'longrope'"

# ---- what a model says goes to a file as it is (terminal.sh: not to a terminal); its names are never obeyed
escape=$(printf '\033[2J')
expect 0 run escape.gguf -p '
' --raw --device cpu --temp 0
out_has "$escape" # a file gets it as it is
sed "s/tiny/$escape/; s/gpt-2/q$escape/" chat.gguf > named.gguf
expect 0 info named.gguf --device cpu
grep -q "$(printf '\033')" out && problem "info prints escape sequences"
expect 0 tokenize named.gguf Hi
grep -q "$(printf '\033')" err && problem "a warning has an escape sequence in it"
if [ -e /dev/full ]; then
    for command in '--help' '--version' 'run chat.gguf -p x --device cpu' 'chat chat.gguf --device cpu'; do
        got=0
        # shellcheck disable=SC2086 # the words are arguments
        echo Hi | "$weft" $command > /dev/full 2> err || got=$?
        [ $got = 1 ] || problem "weft $command > /dev/full: exit $got, expected 1"
        err_has 'standard output'
    done
fi
usage 'no command "sing"' help sing
usage 'from 0 to 9007199254740992' run chat.gguf --seed -1

# ---- folders of Hugging Face
for name in llama3 qwen3 qwen3_moe; do mkdir $name && "$tiny" $name hf $name || problem "cannot write $name"; done
expect 0 convert llama3 l3.gguf --threads 1
out_has "l3.gguf: auto, "
expect 0 convert llama3/ l3.gguf Q8_0
for model in llama3 l3.gguf; do
    expect 0 info --device cpu $model
    out_has 'general.architecture                       string         llama'
    out_has 'every operation of the model runs there'
done
expect 0 run llama3 --device cpu --raw -p hello -n 3 --temp 0 --exact
cp out straight
expect 0 convert llama3 l3.gguf
expect 0 run l3.gguf --device cpu --raw -p hello -n 3 --temp 0 --exact
cmp -s out straight || problem "a folder and its copy as GGUF answer differently"
printf '{{ messages[0].content }}!' > qwen3/chat_template.jinja
expect 0 template qwen3 messages.json
out_is 'Hi!'
expect 0 tokenize qwen3 'hello the'
out_has '"hell"'
expect 0 quantize qwen3 q3.gguf Q4_0
expect 0 run q3.gguf --device cpu --raw -p hello -n 3
expect 0 convert qwen3_moe moe.gguf f16
expect 0 info moe.gguf
out_has 'f16       (6, 24, 32)'
expect 0 run qwen3_moe --device cpu --raw -p hello -n 3
expect 0 info qwen3/model-00001-of-00002.safetensors
out_has 'safetensors, '
out_has 'model.embed_tokens.weight'
grep -q '^metadata' out && problem "info shows metadata where there are none"
[ "$(grep '^  model' out | awk '{ print index($0, $2) }' | sort -u | wc -l)" = 1 ] || problem "info's columns are not aligned"
failure 'name the folder' run qwen3/model-00001-of-00002.safetensors -p x --device cpu
expect 2 convert llama3 x.gguf q5_k
err_has 'convert makes no "q5_k"'
failure 'nowhere is no folder' convert nowhere x.gguf
failure 'give it another name' convert qwen3 qwen3/model-00001-of-00002.safetensors
failure 'give it another name' quantize qwen3 qwen3/model-00001-of-00002.safetensors Q8_0
failure 'has no config.json' convert . x.gguf
rm qwen3/tokenizer.json
failure 'there is no tokenizer.json' convert qwen3 x.gguf
expect 0 info qwen3
out_has 'cannot run it: there is no tokenizer.json'
[ -e x.gguf ] && problem "a failed convert leaves its output"

# ---- quantize
expect 0 quantize chat.gguf q8.gguf q8_0 --threads 1
out_has 'q8.gguf: q8_0, '
expect 0 info q8.gguf --device cpu
out_has 'q8_0'
expect 0 run q8.gguf -p 'Say something' --device cpu --temp 0
out_is Hi
expect 0 quantize chat.gguf q4.gguf Q4_K_M --output-type f16 --threads 1
err_has 'note: '
expect 0 info q4.gguf --device cpu --tensors
grep -q '  output.weight.* f16 ' out || problem "--output-type f16 does nothing"
expect 0 quantize chat.gguf mixed.gguf Q5_1 --threads 1
expect 0 quantize chat.gguf pure.gguf Q5_1 --pure --threads 1
expect 0 info pure.gguf --device cpu --tensors
grep -q '  output.weight.* q5_1 ' out || problem "--pure leaves the output in another format"
expect 0 info mixed.gguf --device cpu --tensors
grep -q '  output.weight.* q8_0 ' out || problem "without --pure the output is not q8_0"
python3 -c "import struct; name = b'blk.0.ffn_down.weight'
open('m.dat', 'wb').write(struct.pack('<ii', 1, len(name)) + name + struct.pack('<ii48f', 1, 48, *range(48)))"
expect 0 quantize chat.gguf weighed.gguf Q4_0 --imatrix m.dat --threads 1
expect 0 quantize chat.gguf plain.gguf Q4_0 --threads 1
cmp -s weighed.gguf plain.gguf && problem "--imatrix changes nothing"
expect 2 quantize chat.gguf x.gguf Q9_9
err_has 'there is no type "Q9_9"'
err_has 'Q4_K_M'
usage 'quantize needs an argument' quantize chat.gguf x.gguf
cp chat.gguf before.gguf
usage './chat.gguf is the input' quantize chat.gguf ./chat.gguf Q8_0
cmp -s chat.gguf before.gguf || problem "quantize wrote over its input"
failure 'short.gguf' quantize short.gguf x.gguf Q4_0
failure 'nowhere' quantize chat.gguf x.gguf Q4_0 --imatrix nowhere
[ -e x.gguf ] && problem "a failed quantize leaves its output"

# ---- devices
expect 0 devices
out_has 'cpu'
grep -q '^\* ' out || problem "no device is marked as the default"

# ---- Ctrl-C, or being told to end, ends an answer with 130, after what was said; a closed pipe ends it too
for signal in INT TERM; do
    got=0
    timeout --preserve-status -s $signal 2 "$weft" run endless.gguf -p x --device cpu --ctx 1000000 > out 2> err || got=$?
    [ $got = 130 ] || problem "SIG$signal: exit $got, expected 130"
    out_has xxx
    err_has 'generated'
done

[ $bad = 0 ] && echo "the program does what it says"
exit $bad
