-- The blocks that are more than words: listings, runs, mutants, the path of a token, measured
-- figures and drawings.  Each function takes an element and where it stands, and gives HTML.
local report, source, highlight = require "report", require "source", require "highlight"
local book, names = require "contents", require "names"
local blocks = {}
local escape = highlight.escape

local function wrong(at, words, ...)
  return '<p class="problem">' .. escape(report.problem(at, words, ...)) .. "</p>"
end

-- What leads from a name in a listing to the listing that defines it.
local function leads(path, first, last)
  return function(word)
    local place = names.find(word, path)
    if not place or place.path == path and place.line >= first and place.line <= last then
      return nil
    end
    local c = place.region and blocks.shown[place.path .. ":" .. place.region]
    return c and c.page .. "#code-" .. place.region or source.page(place.path) .. "#L" .. place.line
  end
end

function blocks.code(lines, language, first, link)
  local out = {}
  for i, html in ipairs(highlight.lines(lines, language, link)) do
    out[i] = first and string.format('<span data-n="%d">%s</span>', first + i - 1, html) or html
  end
  return '<pre class="code' .. (first and " numbered" or "") .. '"><code>' ..
    table.concat(out, "\n") .. "\n</code></pre>"
end

local function listing(id, bar, caption, body, class)
  return string.format('<figure class="listing %s"%s><figcaption>%s%s</figcaption>%s</figure>',
    class or "", id and ' id="' .. id .. '"' or "", '<span class="bar">' .. bar .. "</span>",
    caption and '<span class="caption">' .. caption .. "</span>" or "", body)
end

-- Words in an attribute may use `code`.
local function inline(text)
  return text and escape(text):gsub("(%w)'(%w)", "%1’%2"):gsub("`([^`]*)`", "<code>%1</code>")
end

-- ---- Listings -------------------------------------------------------------------------------
blocks.shown = {}                                    -- region name -> chapter page, id

function blocks.include(cb, at)
  local src, name = cb.attributes.src, cb.attributes.region
  if not (src and name) then return wrong(at, ".include", "an include needs src= and region=") end
  local words = 'region="' .. name .. '"'
  if cb.text:match("%S") then return wrong(at, words, "the include of %s is not empty", name) end
  local file = source.file(src)
  if not file then return wrong(at, words, "there is no file %s", src) end
  local r = file.named[name]
  if not r then return wrong(at, words, "%s has no region %s", src, name) end
  local again = cb.classes:includes("again")
  local lines = table.move(file.lines, r.first, r.last, 1, {})
  local bar = string.format('<a href="%s#L%d">%s</a> <span class="lines">%s</span>%s',
    source.page(src), r.marker, escape(src),
    r.first == r.last and "line " .. r.first or "lines " .. r.first .. "–" .. r.last,
    again and ' <span class="lines">again</span>' or "")
  return listing(not again and "code-" .. name or nil, bar, inline(cb.attributes.caption),
    blocks.code(lines, highlight.language(src), r.first, leads(src, r.first, r.last)))
end

function blocks.plain(cb, at)
  local language = cb.classes[1] or "text"
  if not highlight.known(language) then
    return wrong(at, cb.text:match("[^\n]*"), "there is no language %s", language)
  end
  local lines = {}
  for line in (cb.text .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  local body = blocks.code(lines, language, cb.classes:includes("numberLines") and 1 or nil)
  local id = cb.identifier ~= "" and ' id="' .. cb.identifier .. '"' or ""
  local caption = cb.attributes.caption
  return string.format('<figure class="listing plain"%s>%s%s</figure>', id,
    caption and '<figcaption><span class="caption">' .. inline(caption) .. "</span></figcaption>"
    or "", body)
end

-- ---- Commands that are run ------------------------------------------------------------------
local CACHE = "build/book-cache/"
local stamps = {}

local function capture(command)
  local p = io.popen(command)
  local text = p:read("a")
  p:close()
  return text
end

-- What a command can depend on: the program and its data, or all that is compiled.  A draft looks
-- no further than the parts of the chapter that is tested, or than what is given.
local function stamp(command, near)
  local files = "GNUmakefile chapters/contents.mk src tests"
  local number = tonumber(command:match("chapter%-(%d+)") or "")
  if report.draft and near then
    files = near
  elseif report.draft and number then
    for _, c in ipairs(book.chapters) do
      if c.number == number then
        files = "GNUmakefile"
        for _, p in ipairs(c.parts) do
          files = files .. string.format(" src/%s.[ch] src/cuda/%s.cu tests/%s_test.c " ..
            "tests/cuda/%s_test.cu", p, p, p, p)
        end
      end
    end
  elseif command:match("^build/lanewise") and not command:match("[;&|]%s*make") then
    files = "build/lanewise"
    for path in command:gmatch("[%w_./-]+") do
      if path ~= "build/lanewise" and report.read(path) then files = files .. " " .. path end
    end
  elseif command:match("^tests/mutants run") then
    files = "tests/mutants tests/mutants.tsv src tests/*.c tests/*.h tests/cuda tests/simt"
  end
  stamps[files] = stamps[files] or capture("find " .. files ..
    " -type f -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 cat 2>/dev/null | sha1sum")
  return stamps[files]
end

-- The file that holds what a command printed.
local function result_file(command, near, row)
  return CACHE .. pandoc.utils.sha1(command .. "\0" .. stamp(command, near) .. (row or ""))
end

-- A file that asks for it: two who weave at a time ask each for their own.
local function ask(command, base)
  local name = base .. "." .. os.tmpname():match("[^/_.]*$") .. ".sh"
  local f = assert(io.open(name, "w"))
  local test, variant = command:match("(build/([%w+]+)/tests/[%w_/]+_test)")
  if test then                                       -- a test that is run is built first
    f:write("make -s VARIANT=", variant, " ", test, " >/dev/null 2>&1\n")
  end
  local chapter = command:match("make (chapter%-%d%d) test")
  if chapter then                                    -- and so are a chapter's
    f:write("make -s ", chapter, " >/dev/null 2>&1\n")
  end
  f:write(command, "\n")
  f:close()
  return name
end

-- Runs a command from the root of the tree, once for each state of what it depends on.
local function run(command, near, row)
  local base = result_file(command, near, row)
  local f = io.open(base, "rb")
  if not f and report.draft and os.getenv("RUN") == "no" then return "(not run)", nil end
  if not f then
    os.execute("book/run " .. ask(command, base))
    f = assert(io.open(base, "rb"))
  end
  local status, output = f:read("a"):match("^(%d+)\n(.*)$")
  f:close()
  if status ~= "0" then os.remove(base) end           -- what failed is tried again
  output = output:gsub("\27%[[%d;?]*%a", ""):gsub("\r\n", "\n"):gsub("[^\n]*\r", "")
  return output:gsub("%s+$", ""), tonumber(status)
end

-- Long lines are wrapped; what make compiles on the way depends on the day and is left out.
local function terminal(command, output, limit)
  local out, n, left, wide = {}, 0, 0, #command > 96
  for line in (output .. "\n"):gmatch("(.-)\n") do
    if line:match("^  [%l+]+ +build/") then goto next end
    n = n + 1
    wide = wide or #line > 100
    if not limit or n <= limit then out[n] = escape(line) else left = left + 1 end
    ::next::
  end
  if left > 0 then
    out[#out + 1] = string.format('<span class="more">… %d more line%s</span>', left,
      left == 1 and "" or "s")
  end
  local body = output == "" and "" or "<samp>" .. table.concat(out, "\n") .. "</samp>"
  return '<pre class="terminal' .. (wide and " wide" or "") .. '"><kbd>' .. escape(command) .. "</kbd>" .. body .. "</pre>"
end

function blocks.run(cb, at)
  local command = cb.attributes.cmd
  if not command then return wrong(at, ".run", "a run needs cmd=") end
  local output, status = run(command)
  local fails = cb.classes:includes("fails")
  local problem = ""
  if status and status ~= 0 and not fails then
    problem = wrong(at, command, "%s: exit status %d: %s", command, status,
      output:match("[^\n]*$"))
  elseif status == 0 and fails then
    problem = wrong(at, command, "%s: was to fail, and did not", command)
  end
  local caption = cb.attributes.caption
  return '<figure class="listing run">' ..
    (caption and '<figcaption><span class="caption">' .. inline(caption) ..
      "</span></figcaption>" or "") ..
    terminal(command, output, tonumber(cb.attributes.lines)) .. "</figure>" .. problem
end

-- ---- Mutants --------------------------------------------------------------------------------
local MUTANTS = "tests/mutants.tsv"
local mutants

local function mutant_named(name)
  if not mutants then
    mutants = {}
    for line in (report.read(MUTANTS) or ""):gmatch("[^\n]+") do
      local f = {}
      for field in (line .. "\t"):gmatch("(.-)\t") do f[#f + 1] = field end
      if not line:match("^#") and #f >= 5 then
        local function text(s)
          return (s:gsub("\\([nt\\])", { n = "\n", t = "\t", ["\\"] = "\\" }))
        end
        mutants[f[1]] = { file = f[2], old = text(f[3]), new = text(f[4]), test = f[5],
          row = line }
      end
    end
  end
  return mutants[name]
end

local function near(m) return m.file .. " tests/" .. m.test .. "_test.c*" end

-- Runs the mutants of these names side by side, after one build of the tests that catch them.
function blocks.run_mutants(names)
  local tests, files = {}, {}
  if not report.read("tests/mutants") or os.getenv("RUN") == "no" then return end
  for _, name in ipairs(names) do
    local m = mutant_named(name)
    local command = "tests/mutants run " .. name
    local base = m and result_file(command, near(m), m.row)
    if base and not io.open(base) then
      files[#files + 1] = ask(command, base)
      tests[#tests + 1] = "build/simt/tests/" .. m.test .. "_test"
    end
  end
  if #files > 0 then
    os.execute("env -u MAKEFLAGS -u MAKELEVEL make -s -k VARIANT=simt " ..
      table.concat(tests, " ") .. " >/dev/null 2>&1")
    os.execute("printf '%s\\n' " .. table.concat(files, " ") ..
      " | xargs -P $(nproc) -n 1 book/run")
  end
end

-- The whole lines around a change, before and after it.
local function change(text, old, new)
  local first, last = text:find(old, 1, true)
  if not first or text:find(old, last + 1, true) then return nil end
  local head = text:sub(1, first - 1):match("[^\n]*$")
  local tail = text:sub(last + 1):match("^[^\n]*")
  local _, before = text:sub(1, first):gsub("\n", "")
  return before + 1, head .. old .. tail, head .. new .. tail
end

function blocks.mutant(cb, at)
  local name = cb.attributes.name
  if not name then return wrong(at, ".mutant", "a mutant needs name=") end
  local words = 'name="' .. name .. '"'
  local m = mutant_named(name)
  if not m then return wrong(at, words, "%s has no mutant %s", MUTANTS, name) end
  local text = report.read(m.file)
  if not text then return wrong(at, words, "mutant %s: there is no file %s", name, m.file) end
  local line, old, new = change(text, m.old, m.new)
  if not line then
    return wrong(at, words, "mutant %s: its old text is not exactly once in %s", name, m.file)
  end
  local rows = {}
  for _, side in ipairs { { "del", "−", old }, { "ins", "+", new } } do
    local lines = {}
    for l in (side[3] .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = l end
    while #lines > 1 and not lines[#lines]:match("%S") do lines[#lines] = nil end
    for _, html in ipairs(highlight.lines(lines, highlight.language(m.file))) do
      rows[#rows + 1] = string.format('<%s data-n="%s">%s</%s>', side[1], side[2], html, side[1])
    end
  end
  local bar = string.format('<span class="fault">Fault</span> <a href="%s#L%d">%s</a> ' ..
    '<span class="lines">line %d</span>', source.page(m.file), line, escape(m.file), line)
  local body = '<pre class="code change"><code>' .. table.concat(rows, "\n") .. "\n</code></pre>"
  local problem = ""
  if report.read("tests/mutants") then
    local output, status = run("tests/mutants run " .. name, near(m), m.row)
    if status and status ~= 0 then
      problem = wrong(at, words, "mutant %s: exit status %d: %s", name, status,
        output:match("[^\n]*$"))
    end
    body = body .. terminal("tests/mutants run " .. name, output,
      tonumber(cb.attributes.lines) or 12)
  else
    problem = wrong(at, words, "mutant %s: tests/mutants is missing", name)
  end
  return listing(nil, bar, inline(cb.attributes.caption), body, "mutant") .. problem
end

-- ---- The path of a token --------------------------------------------------------------------
local STEPS = { { "file", "gguf" }, { "embed", "embed" }, { "norm", "rmsnorm" },
  { "quantize", "q8_1" }, { "gemv", "gemv_q4k" }, { "rope", "rope" }, { "cache", "kv_cache" },
  { "attention", "attention" }, { "merge", "split_merge" }, { "swiglu", "swiglu" },
  { "argmax", "argmax" }, { "text", "tokenizer" } }

function blocks.path(marks)
  local out = {}
  for _, step in ipairs(STEPS) do
    local chapter = book.of_part[step[2]]
    local name, here = step[1], marks[step[1]]
    local label = chapter and chapter.page and
      string.format('<a href="%s">%s</a>', chapter.page, name) or name
    out[#out + 1] = (here and '<li class="here" aria-current="step">' or "<li>") .. label ..
      "</li>"
  end
  return '<nav class="path" aria-label="The path of a token"><ol>' .. table.concat(out) ..
    "</ol></nav>"
end

function blocks.here(cb, at)
  local marks, known = {}, {}
  for _, step in ipairs(STEPS) do known[step[1]] = true end
  for name in (cb.attributes.at or ""):gmatch("[%w]+") do
    if not known[name] then return wrong(at, ".here", "the path has no step %s", name) end
    marks[name] = true
  end
  return blocks.path(marks)
end

-- ---- Measured figures -----------------------------------------------------------------------
local tables = {}

local function tsv(path)
  if tables[path] then return tables[path] end
  local text = report.read(path)
  if not text then return nil end
  local t = { notes = {}, rows = {} }
  for line in text:gmatch("[^\n]+") do
    local note = line:match("^#%s*(.*)$")
    if note then
      t.notes[#t.notes + 1] = note
    else
      local f = {}
      for field in (line .. "\t"):gmatch("(.-)\t") do f[#f + 1] = field end
      if not t.columns then t.columns = f
      else
        local row = {}
        for i, c in ipairs(t.columns) do row[c] = f[i] or "" end
        t.rows[#t.rows + 1] = row
      end
    end
  end
  t.columns = t.columns or {}
  tables[path] = t
  return t
end

local function same(a, b) return a == b or (tonumber(a) and tonumber(a) == tonumber(b)) end

-- The rows that a where= chooses, or nothing and why.
local function chosen(attributes)
  local path = attributes.file
  if not path then return nil, "a measured block needs file=" end
  local t = tsv(path)
  if not t then return nil, "there is no file " .. path end
  local has, rows = {}, {}
  for _, c in ipairs(t.columns) do has[c] = true end
  local wanted = {}
  local pairs_of = (attributes.where or ""):gsub("[%s,]+([%w_]+=)", "\n%1") -- values have spaces
  for column, value in pairs_of:gmatch("([%w_]+)=([^\n]+)") do
    if not has[column] then return nil, path .. " has no column " .. column end
    wanted[column] = value
  end
  for _, row in ipairs(t.rows) do
    local fits = true
    for column, value in pairs(wanted) do fits = fits and same(row[column], value) end
    if fits then rows[#rows + 1] = row end
  end
  if #rows == 0 then return nil, path .. " has no row where " .. (attributes.where or "") end
  return rows, t, wanted, has
end

-- A column's name as people write it: tokens_s is tokens/s.
local UNITS = { tokens_s = "tokens/s", gb_s = "GB/s", nmse = "NMSE" }
local function heading(column)
  return UNITS[column] or (column:gsub("_", " "))
end

function blocks.measured(cb, at)
  local rows, t, wanted, has = chosen(cb.attributes)
  if not rows then return wrong(at, ".measured", "%s", t) end
  local columns = {}
  for c in (cb.attributes.columns or ""):gmatch("[%w_/]+") do
    if not has[c] then return wrong(at, ".measured", "there is no column %s", c) end
    columns[#columns + 1] = c
  end
  if #columns == 0 then
    for _, c in ipairs(t.columns) do if not wanted[c] then columns[#columns + 1] = c end end
  end
  local function cell(tag, text, number)
    return "<" .. tag .. (number and ' class="number">' or ">") .. escape(text) .. "</" .. tag .. ">"
  end
  local numeric, out = {}, {}
  for _, c in ipairs(columns) do
    numeric[c] = true
    for _, row in ipairs(rows) do
      numeric[c] = numeric[c] and (row[c]:match("^[-+]?[%d.,]+%s*%%?$") or row[c] == "") and true
    end
    out[#out + 1] = cell("th", heading(c), numeric[c])
  end
  local html = { "<thead><tr>" .. table.concat(out) .. "</tr></thead><tbody>" }
  for _, row in ipairs(rows) do
    out = {}
    for i, c in ipairs(columns) do out[i] = cell("td", row[c], numeric[c]) end
    html[#html + 1] = "<tr>" .. table.concat(out) .. "</tr>"
  end
  local caption = cb.attributes.caption
  return '<figure class="measured"><div class="table"><table>' .. table.concat(html) ..
    "</tbody></table></div><figcaption>" ..
    (caption and '<span class="caption">' .. inline(caption) .. ".</span> " or "") ..
    "<span>Measured: " .. escape(table.concat(t.notes, "; ")) .. ". From <code>" ..
    escape(cb.attributes.file) .. "</code>.</span></figcaption></figure>"
end

function blocks.measure(span, at)
  local rows, why = chosen(span.attributes)
  if not rows then return wrong(at, ".measure", "%s", why) end
  local column = span.attributes.column or ""
  if #rows > 1 or not rows[1][column] then
    return wrong(at, ".measure", "%s where %s: %d rows, column %s", span.attributes.file,
      span.attributes.where or "", #rows, column)
  end
  local value, digits = rows[1][column], span.attributes.digits
  if digits then
    value = ("%." .. digits .. "f"):format(value * (tonumber(span.attributes.times) or 1))
  end
  return '<span class="measure">' .. escape(value) .. "</span>"
end

-- ---- Drawings -------------------------------------------------------------------------------
function blocks.drawing(image, at)
  local alt = pandoc.utils.stringify(image.caption)
  if not alt:match("%S") then return wrong(at, image.src, "%s has no alt text", image.src) end
  local path = "chapters/" .. image.src:gsub("^%./", ""):gsub("^%.%./", "")
  local svg = report.read(path)
  if not svg then return wrong(at, image.src, "there is no drawing %s", path) end
  local attributes, body = svg:match("<svg(.-)>(.*)</svg>")
  local width = attributes and tonumber(attributes:match('viewBox="[-%d.]+[ ,]+[-%d.]+[ ,]+([%d.]+)'))
  if not width then return wrong(path, 1, "the drawing has no viewBox") end
  local problem = ""
  if width > 720 then problem = wrong(path, 1, "the drawing is %g wide; at most 720", width) end
  for size in svg:gmatch('font%-size[=:]%s*"?([%d.]+)') do
    if tonumber(size) < 13 then
      problem = wrong(path, "font-size", "text of size %s; at least 13", size)
    end
  end
  for color in svg:gmatch('%f[%w](%a+=?"[^"]*")') do
    local paint = color:match('^fill="(.*)"$') or color:match('^stroke="(.*)"$')
    if paint and paint ~= "none" and paint ~= "currentColor" then
      problem = wrong(path, color, "%s does not follow light and dark", color)
    end
  end
  local prefix = path:match("([^/]*)%.svg$")
  attributes = attributes:gsub('%s%f[%w]width="[^"]*"', ""):gsub('%s%f[%w]height="[^"]*"', "")
    :gsub('%srole="[^"]*"', ""):gsub('%saria%-[%w]+="[^"]*"', ""):gsub('%sclass="[^"]*"', "")
    :gsub('%sid="[^"]*"', "")
  body = body:gsub("<!%-%-.-%-%->", ""):gsub("<title[^>]*>.-</title>", ""):gsub("<desc[^>]*>.-</desc>", "")
    :gsub('(%sid=")([^"]*")', "%1" .. prefix .. "-%2"):gsub("url%(#", "url(#" .. prefix .. "-")
    :gsub('(href="#)', "%1" .. prefix .. "-")
  local title = image.title:gsub("^fig:", "")
  return string.format('<figure class="drawing"%s><div class="scroll">' ..
    '<svg%s role="img" aria-label="%s" style="--w:%dpx">%s</svg></div>%s</figure>%s',
    image.identifier ~= "" and ' id="' .. image.identifier .. '"' or "", attributes,
    escape(alt), math.ceil(width), body,
    title ~= "" and "<figcaption>" .. inline(title) .. "</figcaption>" or "", problem)
end

return blocks
