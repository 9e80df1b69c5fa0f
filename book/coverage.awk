# See book/coverage.
BEGIN { sorted = "sort -t: -k1,1 -k2,2n >&2" }
function wrong(file, line, of, message) {
    if (chapter != "" && of != chapter + 0) return
    print file ":" line ": " message | sorted
    bad++
}
function part_of(file,    p) {
    p = file
    if (p !~ /^src\/([A-Za-z0-9_]+\.[ch]|cuda\/[A-Za-z0-9_]+\.(cu|h))$/) return ""
    sub(/^src\/(cuda\/)?/, "", p)
    sub(/\.[a-z]+$/, "", p)
    return p
}
function end_region() {
    if (region != "") {
        length_of[region] = last < start ? 0 : last - start + 1
        if (kind == "source") check_length(region, of)
    }
    region = ""
}
function check_length(name, of) {
    if (!length_of[name])
        wrong(file_of[name], line_of[name], of, "the region " name " is empty")
    else if (length_of[name] > 25)
        wrong(file_of[name], line_of[name], of, "the region " name " has " length_of[name] \
            " lines; at most 25")
}
function attribute(text, name,    value) {
    if (!match(text, name "=\"[^\"]*\"")) return ""
    value = substr(text, RSTART + length(name) + 2, RLENGTH - length(name) - 3)
    return value
}

FNR == 1 {
    end_region()
    file = FILENAME
    kind = file ~ /contents\.mk$/ ? "contents" : file ~ /\.md$/ ? "chapter" : \
        file ~ /^src\// ? "source" : "test"
    outside = 0; fence = ""
    of = -1
    if (kind == "source") {
        lines_of_source[file] = 0
        p = part_of(file)
        if (p in chapter_of) { of = chapter_of[p]; has_file[p] = 1 }
        else wrong(file, 1, -1, "no chapter of chapters/contents.mk has the part " p)
    } else if (kind == "chapter") {
        n = file
        sub(/.*\//, "", n)
        of = substr(n, 1, 2) + 0
        answers = file ~ /\/answers\//
        if (!answers && of < 90) {
            if (!(of in planned)) wrong(file, 1, of, "chapters/contents.mk has no chapter-" substr(n, 1, 2))
            has_chapter[of]++
            if (has_chapter[of] == 2) wrong(file, 1, of, "a second file of chapter " of)
        }
    }
}

kind == "contents" {
    if ($1 !~ /^chapter-[0-9]+$/) next
    n = substr($1, 9) + 0
    planned[n] = FNR
    sub(/#.*/, "")
    for (i = 3; i <= NF; i++) {
        if ($i in chapter_of) wrong(file, FNR, n, "the part " $i " is already in chapter " chapter_of[$i])
        chapter_of[$i] = n
        part_line[$i] = FNR
    }
    next
}

kind == "source" || kind == "test" {
    if ($0 ~ /^[ \t]*\/\/: *[^ \t]/ || $0 ~ /^[ \t]*\/\/:[^ \t]/) {
        end_region()
        if (NF != 2 || $2 !~ /^[a-z0-9]+(-[a-z0-9]+)*$/) {
            wrong(file, FNR, of, "not a marker: " $0)
            next
        }
        region = $2; marker = FNR; start = FNR + 1; last = FNR
        if (region in place) {
            wrong(file, FNR, of, "the region " region " is already at " place[region])
            region = ""
        } else {
            place[region] = file ":" FNR
            file_of[region] = file; line_of[region] = FNR
            regions++
        }
        next
    }
    if (kind == "source") {
        total++
        if (region == "" && !outside) {
            wrong(file, FNR, of, "a line before the first region")
            outside = 1
        }
    }
    if (region != "") {
        if (NF) last = FNR
        else if (last < start) start = FNR + 1
        wide = $0
        gsub(/[\200-\277]/, "", wide)
        if (length(wide) > 92) wrong(file, FNR, of, length(wide) " columns; at most 92")
    }
    next
}

# A chapter: fenced blocks, of which some are includes.
/^ *(```+|~~~+)/ {
    mark = $0
    sub(/^ */, "", mark)
    rest = mark
    char = substr(mark, 1, 1)
    sub(char == "`" ? "^`+" : "^~+", "", rest)
    mark = substr(mark, 1, length(mark) - length(rest))
    if (fence != "") {
        if (substr(mark, 1, length(fence)) == fence && rest !~ /[^ \t]/) fence = ""
        next
    }
    fence = mark
    if (rest !~ /^ *\{[^}]*\.include[ }]/) next
    src = attribute(rest, "src"); name = attribute(rest, "region")
    again = rest ~ /[ {]\.again[ }]/
    if (src == "" || name == "") { wrong(file, FNR, of, "an include needs src= and region="); next }
    n_include++
    i_file[n_include] = file; i_line[n_include] = FNR; i_of[n_include] = of
    i_src[n_include] = src; i_name[n_include] = name; i_again[n_include] = again
    i_answers[n_include] = answers
}

END {
    end_region()
    for (i = 1; i <= n_include; i++) {
        f = i_file[i]; l = i_line[i]; name = i_name[i]; src = i_src[i]
        if (!(name in place) || file_of[name] != src) {
            wrong(f, l, i_of[i], src " has no region " name \
                (name in place ? "; it is at " place[name] : ""))
            continue
        }
        if (i_again[i]) continue
        if (name in shown) {
            wrong(f, l, i_of[i], "the region " name " is already shown at " shown[name] \
                "; to show it again, add .again")
            continue
        }
        shown[name] = f ":" l
        if (src !~ /^src\//) check_length(name, i_of[i])
        p = part_of(src)
        if (p == "" || !(p in chapter_of)) continue
        if (i_answers[i] || chapter_of[p] != i_of[i])
            wrong(f, l, i_of[i], "the region " name " belongs to chapter " chapter_of[p] \
                ", which brings " p)
    }
    for (name in place) {
        p = part_of(file_of[name])
        if (p == "" || name in shown) continue
        wrong(file_of[name], line_of[name], p in chapter_of ? chapter_of[p] : -1, "the region " name \
            " is shown in no chapter" (p in chapter_of ? "; it belongs to chapter " chapter_of[p] : ""))
    }
    for (p in chapter_of)
        if (!(p in has_file))
            wrong("chapters/contents.mk", part_line[p], chapter_of[p], "the part " p " has no file")
    for (n in planned)
        if (!(n in has_chapter))
            wrong("chapters/contents.mk", planned[n], n + 0, "chapter " n " has no file in chapters/")
    for (f in lines_of_source) files++
    close(sorted)
    if (chapter == "" || bad)
        printf "  coverage   %d regions, %d lines of source in %d files, %d includes: %d wrong\n", \
            regions, total, files, n_include, bad
    exit bad > 0
}
