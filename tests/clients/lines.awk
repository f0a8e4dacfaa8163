# The source line of each machine instruction that touches memory or synchronizes: `OPCODE FILE LINE`.
/^[ \t]*\/\/## File/ { line = $0; sub(/^[ \t]*\/\/## /, "", line); sub(/ inlined.*/, "", line); next }
/^[ \t]*\/\*[0-9a-f]+\*\// {
    text = $0; sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]*/, "", text); sub(/^@!?U?P[0-9T]+[ \t]+/, "", text); sub(/[ .;].*/, "", text)
    if (text ~ /^(LD|ST|ATOM|RED|BAR|MEMBAR|WARPSYNC|VOTE|SHFL|MATCH|FENCE|SYNCS|UTMA|CCTL)/ && text != "LDC" && text != "LDCU") print text, line
}
