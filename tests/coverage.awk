# Adds up what gcov -b -c -t printed of all objects. A line counts as run if it was run in one of them; so does each way that a branch
# may go. Prints the shares of each room, and writes the functions that never ran to the file `unrun`.
BEGIN { FS = ":" }
$2 == "    0" && $3 == "Source" { file = $4; mine = file ~ /^src\//; next }
!mine { next }
/^function / {
    split($0, word, " ")
    called[file " " word[2]] += word[4]
    next
}
/^branch / {
    branch++
    split($0, word, " ")
    way = file ":" line ":" branch
    ways[way] += word[3] == "taken" ? word[4] : 0
    next
}
/^call |^------/ { next }
NF >= 3 && $2 + 0 > 0 {
    line = $2 + 0
    branch = 0
    count = $1
    gsub(/[ *]/, "", count)
    if (count != "-")
        lines[file ":" line] += count + 0 # ##### and ===== are 0
}
function room_of(place,    part, n) {
    n = split(place, part, "/")
    return part[2] ~ /^(phase|check|judge|use)$/ && n > 3 ? part[2] "/" part[3] : part[2]
}
function share(run, all) { return all ? sprintf("%5.1f %%", 100 * run / all) : "      -" }
function row(room) {
    return sprintf("%-18s %7d %s %8d %s %6d %5d", room, all_lines[room], share(run_lines[room], all_lines[room]), all_ways[room],
        share(run_ways[room], all_ways[room]), all_functions[room], unrun_functions[room])
}
END {
    for (place in lines) {
        room = room_of(place); all_lines[room]++; all_lines["all"]++
        if (lines[place]) { run_lines[room]++; run_lines["all"]++ }
    }
    for (place in ways) {
        room = room_of(place); all_ways[room]++; all_ways["all"]++
        if (ways[place]) { run_ways[room]++; run_ways["all"]++ }
    }
    for (place in called) {
        room = room_of(place); all_functions[room]++; all_functions["all"]++
        if (!called[place]) { unrun_functions[room]++; unrun_functions["all"]++; print place >unrun }
    }
    printf "%-18s %7s %7s %8s %7s %6s %5s\n", "room", "lines", "run", "branches", "taken", "funcs", "unrun"
    fflush()
    for (room in all_lines)
        if (room != "all")
            print row(room) | "sort"
    close("sort")
    print row("all")
}
