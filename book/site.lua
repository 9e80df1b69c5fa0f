-- Pages: one for each chapter, one for each source file, the title page and the search index.
local report, source, highlight = require "report", require "source", require "highlight"
local contents, blocks, names = require "contents", require "blocks", require "names"
local escape = highlight.escape
local site = {}
local OUT = os.getenv("BOOK_OUT") or "build/book"
local template = report.read("book/page.html")

local function inlines(content)
  return (pandoc.write(pandoc.Pandoc { pandoc.Plain(content) }, "html5"):gsub("<a [^>]*>(.-)</a>", "%1")
    :gsub(' id="[^"]*"', ""))
end

local function write(name, text)
  local f = assert(io.open(OUT .. "/" .. name, "w"))
  f:write(text)
  f:close()
end

local function chapters()
  local i, list = 0, contents.chapters
  return function()
    repeat i = i + 1 until not list[i] or list[i].file
    return list[i]
  end
end

local function link(c, class)
  return string.format('<a href="%s"%s><span class="n">%s</span>%s</a>', c.page, class or "",
    c.label or "", inlines(c.title_inlines))
end

-- The map of the book; the chapter one is in is open.
local function map(current)
  local out, appendices = { "<ol>" }, false
  for c in chapters() do
    if c.number >= 90 and not appendices then
      out[#out + 1] = '</ol><p class="head">Appendices</p><ol>'
      appendices = true
    end
    local here = c == current
    out[#out + 1] = "<li>" .. link(c, here and ' aria-current="page"' or "")
    if here and #c.sections > 0 then
      out[#out + 1] = '<ol class="sections">'
      for _, s in ipairs(c.sections) do
        out[#out + 1] = string.format('<li><a href="#%s"><span class="n">%s</span>%s</a></li>',
          s.id, s.number or "", inlines(s.title))
      end
      out[#out + 1] = "</ol>"
    end
    out[#out + 1] = "</li>"
  end
  out[#out + 1] = string.format('</ol><ol><li><a href="sources.html"%s><span class="n"></span>' ..
    "The whole source</a></li></ol>", current == "sources" and ' aria-current="page"' or "")
  return table.concat(out, "\n")
end

local function turn(c, rel, arrow)
  if not c then return "<span></span>" end
  local label = c.label and c.kind .. " " .. c.label or rel == "prev" and "Back" or "Begin"
  return string.format('<a rel="%s" href="%s"><small>%s</small>%s</a>', rel, c.page,
    rel == "prev" and arrow .. " " .. label or label .. " " .. arrow, inlines(c.title_inlines))
end

local function page(values)
  return (template:gsub("{{(%w+)}}", function(name) return values[name] or "" end))
end

-- ---- Search ---------------------------------------------------------------------------------
local UNESCAPE = { lt = "<", gt = ">", amp = "&", quot = '"', ["#39"] = "'" }
local function plain(html)
  return (html:gsub("<annotation.-</annotation>", ""):gsub("<figcaption>.-</figcaption>", " ")
    :gsub("<svg.-</svg>", " "):gsub("</?i[^>]*>", ""):gsub("</?code>", ""):gsub("<[^>]*>", " ")
    :gsub("&([%w#]+);", UNESCAPE):gsub("%s+", " "))
end
local function json(s)
  return '"' .. s:gsub('[%c"\\<]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function index_entries(c)
  local entries = {}
  local head = (c.label and c.label .. " " or "") .. c.title
  local start, id, title = 1, "", head
  local function add(text)
    entries[#entries + 1] = "[" .. json(c.page .. (id ~= "" and "#" .. id or "")) .. "," ..
      json(title) .. "," .. json(id == "" and "" or head) .. "," .. json(plain(text)) .. "]"
  end
  if c.number == 91 then
    for dt, dd in c.html:gmatch("<dt>(.-)</dt>%s*<dd>(.-)</dd>") do
      id, title = dt:match('id="([^"]*)"') or "", plain(dt)
      add(dd)
    end
    return entries
  end
  while true do
    local first, last, next_id, heading = c.html:find('<h[23][^>]-id="([^"]*)"[^>]*>(.-)</h[23]>', start)
    add(c.html:sub(start, (first or 0) - 1))
    if not first then break end
    start, id, title = last + 1, next_id, plain(heading)
  end
  return entries
end

-- ---- Chapters -------------------------------------------------------------------------------
local function source_list(c)
  local out = {}
  for _, p in ipairs(c.parts) do
    for _, path in ipairs { "src/" .. p .. ".h", "src/" .. p .. ".c", "src/cuda/" .. p .. ".h",
                            "src/cuda/" .. p .. ".cu" } do
      if source.exists(path) then
        out[#out + 1] = string.format('<a href="%s">%s</a>', source.page(path), path)
      end
    end
  end
  return #out > 0 and '<p class="brings">' .. table.concat(out, " ") .. "</p>" or ""
end

local function write_chapter(c, before, after)
  local label = c.label and string.format('<p class="label">%s %s</p>', c.kind, c.label) or ""
  write(c.page, page { title = escape(c.title) .. " · Lanewise", place = (c.label and c.label ..
    " " or "") .. inlines(c.title_inlines), map = map(c), kind = "chapter",
    body = string.format('<header>%s<h1 id="%s">%s</h1>%s</header>\n%s', label, c.id or "",
      inlines(c.title_inlines), source_list(c), c.html),
    turn = turn(before, "prev", "←") .. turn(after, "next", "→") })
end

-- ---- Sources --------------------------------------------------------------------------------
local function write_source(path)
  local file = source.file(path)
  local html = highlight.lines(file.lines, highlight.language(path), function(word)
    local place = names.find(word, path)
    if not place then return nil end
    return (place.path == path and "" or source.page(place.path)) .. "#L" .. place.line
  end)
  local marker = {}
  for _, r in ipairs(file.regions) do marker[r.marker] = r end
  local out = {}
  for n, line in ipairs(html) do
    local r = marker[n]
    local c = r and blocks.shown[path .. ":" .. r.name]
    if r then
      local where = c and c.html_page ~= false and string.format(
        '<a href="%s#code-%s">%s</a>', c.page, r.name, (c.label and c.kind .. " " .. c.label .. ", " or "")
        .. inlines(c.title_inlines)) or ""
      out[n] = string.format('<span id="L%d" data-n="%d" class="marker"><i class="c">%s</i>%s</span>',
        n, n, escape(file.lines[n]), where ~= "" and "  " .. where or "")
    else
      out[n] = string.format('<span id="L%d" data-n="%d">%s</span>', n, n, line)
    end
  end
  local c = contents.of_file(path)
  write(source.page(path), page { title = escape(path) .. " · Lanewise", place = escape(path),
    map = map("source"), kind = "source",
    body = string.format('<header><p class="label">Source file%s</p><h1 class="filename">%s</h1>' ..
      '<p class="brings">%d lines, %d bytes</p></header><figure class="listing whole">' ..
      '<pre class="code numbered"><code>%s\n</code></pre></figure>',
      c and c.file and string.format(' of <a href="%s">%s %s</a>', c.page, c.kind or "the", c.label or "preface") or "",
      escape(path), #file.lines, #report.read(path), table.concat(out, "\n")) })
end

local function entry(path)
  local text = (report.read(path) or ""):gsub("^%s*//: [%w-]+%s*\n", ""):gsub("^#: [%w-]+%s*\n", "")
  local comment = {}
  for line in text:gmatch("[^\n]*") do
    local words = line:match("^// ?(.*)$") or line:match("^/?%*+ ?(.*)$") or
      not path:match("%.[ch]") and line:match("^# ?(.*)$")
    if not words then break end
    comment[#comment + 1] = words
  end
  local first = table.concat(comment, " "):gsub("%s+", " "):match("^(.-%.)%s") or
    table.concat(comment, " ")
  return string.format('<li><a href="%s">%s</a><span>%s</span></li>', source.page(path),
    escape(path), escape(first))
end

local function write_source_list(all)
  local rest, out, done = {}, {}, {}
  for c in chapters() do
    local list = {}
    for _, path in ipairs(all) do
      if not done[path] and contents.of_file(path) == c then
        list[#list + 1] = path
        done[path] = true
      end
    end
    local function rank(path)
      local _, part = contents.of_file(path)
      for i, p in ipairs(c.parts) do
        if p == part then
          return string.format("%02d%s", i, path:match("^src/[^/]*%.h") and "a" or
            path:match("^src/[^/]*%.c") and "b" or path:match("^src/cuda") and "c" or "d" .. path)
        end
      end
      return "99" .. path
    end
    table.sort(list, function(a, b) return rank(a) < rank(b) end)
    if #list > 0 then
      out[#out + 1] = string.format('<h2 id="c%d"><a class="num" href="%s">%s</a> %s</h2><ul class="files">',
        c.number, c.page, c.label or "", inlines(c.title_inlines))
      for _, path in ipairs(list) do out[#out + 1] = entry(path) end
      out[#out + 1] = "</ul>"
    end
  end
  for _, path in ipairs(all) do if not done[path] then rest[#rest + 1] = path end end
  out[#out + 1] = '<h2 id="rest">The build and the test bench</h2><ul class="files">'
  for _, path in ipairs(rest) do out[#out + 1] = entry(path) end
  out[#out + 1] = "</ul>"
  write("sources.html", page { title = "The whole source · Lanewise", place = "The whole source",
    map = map("sources"), kind = "sources", body = "<header><h1>The whole source</h1></header>" ..
    "<p>Every file whole, in reading order: the header of a part, what runs on a CPU, the " ..
    "kernel, and the tests.</p>" .. table.concat(out, "\n") })
end

-- ---- Title page -----------------------------------------------------------------------------
local function write_title()
  local front = pandoc.read(report.read("book/title.md"), "markdown")
  local title, subtitle = pandoc.utils.stringify(front.meta.title), pandoc.utils.stringify(front.meta.subtitle)
  local words = pandoc.write(pandoc.Pandoc(front.blocks), "html5")
  local out, appendices = { '<ol class="contents">' }, false
  for c in chapters() do
    if c.number >= 90 and not appendices then
      out[#out + 1] = '</ol><h2 id="appendices">Appendices</h2><ol class="contents">'
      appendices = true
    end
    local names = {}
    for i, p in ipairs(c.parts) do names[i] = "<code>" .. escape(p) .. "</code>" end
    out[#out + 1] = "<li>" .. link(c) .. (#names > 0 and '<span class="parts">' ..
      table.concat(names, " ") .. "</span>" or "") .. "</li>"
  end
  out[#out + 1] = "</ol>"
  local first
  for c in chapters() do first = c break end
  write("index.html", page { title = title, place = escape(subtitle), map = map(nil), kind = "title",
    body = string.format('<header class="cover"><h1>%s</h1><p class="subtitle">%s</p></header>%s%s' ..
      '<h2 id="contents">Contents</h2>%s<p><a href="sources.html">The whole source, file by file</a></p>',
      escape(title), escape(subtitle), words, blocks.path({}), table.concat(out, "\n")),
    turn = "<span></span>" .. turn(first, "next", "→") })
end

-- Writes the pages of these chapters, and what goes with them.
function site.write(written, only)
  local order, place = {}, {}
  for c in chapters() do
    order[#order + 1] = c
    place[c] = #order
  end
  for _, c in ipairs(written) do
    write_chapter(c, order[place[c] - 1], order[place[c] + 1])
  end
  local all = source.all()
  for _, path in ipairs(all) do
    local c = contents.of_file(path)
    if not only or (c and c.number == only) or not io.open(OUT .. "/" .. source.page(path)) then
      write_source(path)
    end
  end
  write_source_list(all)
  write_title()
  if not only then
    local index = {}
    for _, c in ipairs(written) do
      for _, e in ipairs(index_entries(c)) do index[#index + 1] = e end
    end
    for _, path in ipairs(all) do
      index[#index + 1] = "[" .. json(source.page(path)) .. "," .. json(path) .. ',"source",' ..
        json(path:match("[^/]*$")) .. "]"
    end
    for _, place in ipairs(names.list) do
      index[#index + 1] = "[" .. json(source.page(place.path) .. "#L" .. place.line) .. "," ..
        json(place.name) .. "," .. json(place.path) .. ',""]'
    end
    write("search.js", "window.BOOK_INDEX=[\n" .. table.concat(index, ",\n") .. "\n];\n")
  end
  for _, name in ipairs { "style.css", "book.js" } do write(name, report.read("book/" .. name)) end
  print(string.format("%d chapters, %d source files: %s/index.html", #written, #all, OUT))
end

return site
