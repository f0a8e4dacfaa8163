#!/bin/sh
# What others install: the archive with a static binary, the Debian package, the wheel, the completions; and whether two builds in
# two folders are the same. usage: [BUILD=build] tests/packages.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
GIVEN=$BUILD # as make was told: another name would compile everything again
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
TOP=$(pwd)
WORK=$BUILD/work/packages
rm -rf "$WORK"
mkdir -p "$WORK"
not() { if "$@"; then return 1; fi; }
case_()
{
    # Not as a condition: `set -e` does nothing there.
    (cd "$WORK" || exit 1; set -e; eval "$2") >"$WORK/case.log" 2>&1 </dev/null
    if [ $? = 0 ]; then echo "pass $1"; else
        echo "fail $1"
        sed 's/^/    /' "$WORK/case.log" | tail -20
    fi
}
top_make() { make -s -C "$TOP" BUILD="$GIVEN" "$@"; }
{
case_ 'make dist: a static program that runs on its own' 'top_make dist; cp "$BUILD"/ptxopt-*-linux-*.tar.gz first.tgz; mkdir d; tar -xzf first.tgz -C d --strip-components=1
    [ "$(d/bin/ptxopt --version)" = "$("$BUILD/ptxopt" --version)" ]; readelf -l d/bin/ptxopt >said; not grep -q INTERP said; [ -L d/bin/ptxopt-ptxas ]; [ -e d/share/man/man1/ptxopt.1 ]; [ -e d/LICENSE ]'
case_ 'make dist: the same bytes again' 'sleep 1; top_make dist; cmp "$BUILD"/ptxopt-*-linux-*.tar.gz first.tgz'
if command -v dpkg-deb >/dev/null; then
    case_ 'make deb' 'top_make deb; dpkg-deb --info "$BUILD"/ptxopt_*.deb | grep -q "Package: ptxopt"; dpkg-deb --contents "$BUILD"/ptxopt_*.deb >list
        for f in usr/bin/ptxopt usr/bin/ptxopt-ptxas usr/bin/ptxopt-reduce "usr/lib/.*linux-gnu/libptxopt.so.1" "usr/lib/.*linux-gnu/libptxopt-preload.so" usr/share/man/man1/ptxopt-cicc.1.gz usr/share/doc/ptxopt/changelog.gz usr/share/bash-completion/completions/ptxopt usr/share/doc/ptxopt/copyright; do grep -q "\./$f\>" list; done; not grep -q "include/ptxopt.h" list
        dpkg-deb --info "$BUILD"/ptxopt_*.deb | grep -q "Depends: libc6 (>= 2"; dpkg-deb --info "$BUILD"/ptxopt-dev_*.deb | grep -q "Depends: ptxopt (= "; dpkg-deb --contents "$BUILD"/ptxopt-dev_*.deb >list; for f in include/ptxopt.h "linux-gnu/libptxopt.a" "linux-gnu/libptxopt.so ->" man3/ptxopt.3.gz pkgconfig/ptxopt.pc; do grep -q "$f" list; done
        dpkg-deb -x "$BUILD"/ptxopt_*.deb x; x/usr/bin/ptxopt --version; cp "$BUILD"/ptxopt_*.deb a; top_make deb; cmp a "$BUILD"/ptxopt_*.deb'
else
    echo 'skip make deb: dpkg-deb is not at hand'
fi
if command -v pkg-config >/dev/null; then
    case_ 'make dist: pkg-config finds it wherever it lies' 'mkdir -p "m o"; mv d "m o/d"; [ "$(PKG_CONFIG_PATH="$PWD/m o/d/lib/pkgconfig" pkg-config --variable=includedir ptxopt | sed "s/\\\\//g")" -ef "m o/d/include" ]; mv "m o/d" d'
else
    echo 'skip pkg-config: it is not at hand'
fi
case_ 'completion for bash' 'printf "%s\n" ". \"$TOP/src/use/integration/completions/ptxopt.bash\"" "COMP_WORDS=(\"$BUILD/ptxopt\" --skip); COMP_CWORD=1; compopt() { :; }; _ptxopt; echo \"\${COMPREPLY[*]}\"" \
        "COMP_WORDS=(\"$BUILD/ptxopt\" --no-); _ptxopt; echo \"\${COMPREPLY[*]}\"" >try; bash try >said; [ "$(head -1 said)" = --skip-function= ]; grep -q "no-tail-merge-hoist" said'
case_ 'completion for bash: values, and the other programs' 'printf "%s\n" ". \"$TOP/src/use/integration/completions/ptxopt.bash\"" "PATH=$BUILD:\$PATH; compopt() { :; }; ask() { COMP_WORDS=(\"\$@\"); COMP_CWORD=\$((\$# - 1)); COMPREPLY=(); _ptxopt; echo \"\${COMPREPLY[*]}\"; }" \
        "ask ptxopt --disable = sw" "ask ptxopt --enable = layout,tail" "ask ptxopt --assume = 1" "ask ptxopt --prove = " "ask ptxopt-report --for" "ask ptxopt-report --format = ht" "ask ptxopt-ptxas --tail-merge-s" "ask ptxopt-cicc --skip" >try; bash try >said; cat said
    printf "%s\n" switch-lowering layout,tail-merge 1d-blocks "report revert strict" --format= html --tail-merge-size= --skip-function= | cmp - said'
python=$BUILD/clients/venv/bin/python
[ -x "$python" ] && "$python" -c 'import build' 2>/dev/null || python=python3
if "$python" -c 'import build, venv' 2>/dev/null && top_make wheel PYTHON="$python" >"$WORK/wheel.log" 2>&1; then
    case_ 'the wheel: installed, it optimizes' '"$python" -m venv v; v/bin/pip install -q --no-index --no-deps "$BUILD"/ptxopt-*.whl; v/bin/python -c "
import ptxopt
text = open(\"$TOP/examples/tails.hand.ptx\").read() if __import__(\"os\").path.exists(\"$TOP/examples/tails.hand.ptx\") else \".version 8.0\n.target sm_80\n\"
made = ptxopt.optimize(text, [\"-O3\"], remarks=True)
assert made.startswith(\".version\") or made.changed or made == text
try:
    ptxopt.optimize(\"this is no PTX\")
    raise SystemExit(1)
except ptxopt.Error as error:
    assert \"1:1: error\" in str(error)
try:
    ptxopt.optimize(text, [\"--nope\"])
    raise SystemExit(1)
except ptxopt.Error as error:
    assert \"unknown option\" in str(error)
assert \"commit\" in ptxopt.version()"
    [ "$(v/bin/ptxopt --version)" = "$("$BUILD/ptxopt" --version)" ]; ls "$BUILD"/ptxopt-*-manylinux_2_[0-9]*_*.whl; v/bin/pip show -v ptxopt | grep -q "License: Apache"; readelf -S v/lib/python3*/site-packages/ptxopt/libptxopt.so.1 >said; not grep -q debug_info said'
case_ 'Python: ptxopt.numba and ptxopt.triton are modules' 'for m in numba triton; do PTXOPT_LIBRARY=$BUILD/libptxopt.so.1 PYTHONPATH=$TOP/src/use/integration/python "$python" -c "import importlib.util as u; assert u.find_spec(\"ptxopt.$m\")"; done'
else
    echo 'skip the wheel: Python with build, or its packages, cannot be had'
fi
# ---- recipes for others' machines: what they run is run here, with the build that is there ------------------------------
# MAKEFLAGS for a make without arguments: what this one was told, and BUILD. Anything else would compile everything again.
as_told() { case ${MAKEFLAGS:-} in *"-- "*) echo "$MAKEFLAGS BUILD=$GIVEN" ;; *) echo "${MAKEFLAGS:-} -- BUILD=$GIVEN" ;; esac; }
# The Action: its steps, as the runner runs them. (The file is read by a parser of YAML where there is one.)
cat >"$WORK/steps.py" <<'PY'
import sys, yaml
action = yaml.safe_load(open(sys.argv[1]))
assert action["runs"]["using"] == "composite" and action["name"] and action["description"]
for number, step in enumerate(action["runs"]["steps"]):
    assert step["shell"] == "bash"
    open("step%d" % number, "w").write(step["run"])
    for name, value in step.get("env", {}).items():
        key = value.removeprefix("${{ inputs.").removesuffix(" }}")
        assert key in action["inputs"], value
        print("export %s=${INPUT_%s-%s}" % (name, key, action["inputs"][key]["default"]))
PY
python=$BUILD/clients/venv/bin/python
[ -x "$python" ] && "$python" -c 'import yaml' 2>/dev/null || python=python3
if "$python" -c 'import yaml' 2>/dev/null && command -v bash >/dev/null; then
    case_ 'the GitHub Action: its steps' 'mkdir run; : >path; : >env; "$python" steps.py "$TOP/src/use/integration/github/action.yml" >inputs; INPUT_options=-O1; . ./inputs
        export GITHUB_ACTION_PATH="$TOP/src/use/integration/github" RUNNER_TEMP="$PWD/run" GITHUB_PATH="$PWD/path" GITHUB_ENV="$PWD/env" MAKEFLAGS=$(as_told)
        for step in step0 step1; do bash --noprofile --norc -eo pipefail $step; done; unset MAKEFLAGS; PATH=$(cat path):$PATH; "$(cat path)/ptxopt" --version
        grep -qx "NVCC_APPEND_FLAGS=--ptxas-prefix=ptxopt-ptxas" env; grep -qx "PTXOPT=on" env; grep -qx "PTXOPT_FLAGS=-O1" env
        printf "#!/bin/sh\ncp \"\$1\" \"\$3\"\n" >fake; chmod +x fake; env $(cat env) PTXOPT_GUARD=off ptxopt-ptxas ./fake "$TOP/tests/sample.ptx" -o o; "$BUILD/ptxopt" -O1 "$TOP/tests/sample.ptx" | cmp - o'
else
    echo 'skip the GitHub Action: bash, or Python with yaml, is not at hand'
fi
# The container file: its commands but those of apt, with another prefix and in the folder of the source.
case_ 'the container file: its commands' 'file=$TOP/src/use/integration/container/Containerfile; not grep -vE "^(#|ARG|FROM|COPY|WORKDIR|RUN|ENV) |^(#.*)?$" "$file"
    sed -n "s/^RUN //p" "$file" | sed "s|apt-get update && apt-get install [^&]*&& ||; s|PREFIX=/opt/ptxopt|PREFIX=$PWD/opt|" >commands; [ "$(wc -l <commands)" = 2 ]
    (cd "$TOP"; MAKEFLAGS=$(as_told) sh -e "$WORK/commands"); opt/bin/ptxopt --version; grep -q "^COPY --from=build /opt/ptxopt /usr/local$" "$file"'

case_ 'make phase: a skeleton that compiles, and whose first case waits for the phase' 'mkdir kit; (cd "$TOP"; git ls-files -z | xargs -0 cp --parents -t "$WORK/kit"); cd kit
    make -s phase NAME=value-sink; not make -s phase NAME=value-sink; not make -s phase NAME=Sink; make -s CFLAGS=-O0 WERROR=1 all docs
    build/ptxopt --list-phases | grep -q "^value-sink "; for page in man/ptxopt.1 man/ptxopt-phases.7; do grep -q "enable-value-sink" $page; done
    build/ptxopt -O2 --enable-value-sink --verify-each tests/sample.ptx -o on.ptx; build/ptxopt -O2 tests/sample.ptx -o off.ptx; cmp on.ptx off.ptx
    not env BUILD=build sh tests/run.sh tests/phase/value-sink >said; grep -q "^data: 1 passed, 1 failed" said'

case_ 'two builds in two folders are the same program' 'mkdir "other"; (cd "$TOP"; git ls-files -z | xargs -0 cp --parents -t "$WORK/other"); cp "$TOP/src/version.sh" v.sh
    top_make all; cd "other"; printf "#!/bin/sh\ncat \"%s\"\n" "$BUILD/gen/version.h" >src/version.sh; make -s BUILD=build CC="${CC:-cc}" build/ptxopt; cmp build/ptxopt "$BUILD/ptxopt"'
} >"$WORK/log"
tally "${NAME:-packages}" "$WORK/log"
