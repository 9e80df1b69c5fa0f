-- The press: reads every chapter, numbers and links them, and writes the pages.
-- pandoc runs this as a filter over an empty document; what it reads is found by itself.
--   BOOK_OUT=folder      where pages go
--   BOOK_DRAFT=yes       report what is wrong and go on
--   BOOK_CHAPTER=NN      write the pages of this chapter alone
package.path = "book/?.lua;" .. package.path
local report, source, highlight = require "report", require "source", require "highlight"
local contents, blocks, site = require "contents", require "blocks", require "site"
local text_of = pandoc.utils.stringify
local FORMAT = "markdown-auto_identifiers"
local only = tonumber(os.getenv("BOOK_CHAPTER") or "")

-- ---- Reading --------------------------------------------------------------------------------
local function read_chapter(c)
  c.blocks = pandoc.Blocks {}
  local function add(path)
    local doc = pandoc.read(report.read(path), FORMAT)
    c.blocks:insert(pandoc.Div(doc.blocks, pandoc.Attr("", { "file" }, { path = path })))
  end
  add(c.file)
  if c.page:match("answers") then
    for path in io.popen("ls chapters/answers/[0-9][0-9].md 2>/dev/null"):lines() do add(path) end
  end
end

-- Calls f(blocks, path) for each file of a chapter.
local function each_file(c, f)
  for _, div in ipairs(c.blocks) do f(div, div.attributes.path) end
end

-- ---- Numbers and names ----------------------------------------------------------------------
local ids = {}                                       -- id -> page, label, title
local uses = {}                                      -- id -> chapters that link to it

local function define(id, path, what)
  if id == "" then return end
  if ids[id] then
    report.problem(path, "#" .. id, "the id %s is already on %s", id, ids[id].page)
  else
    ids[id] = what
  end
end

local function slug(text)
  return (text:lower():gsub("[^%w%s-]", ""):gsub("%s+", "-"))
end

local function number_headers(c)
  local section = 0
  c.sections = {}
  each_file(c, function(div, path)
    local answers = path:match("answers/(%d%d)%.md$")
    for i, b in ipairs(div.content) do
      if b.t == "Header" then
        local title, plain = text_of(b), b.classes:includes("unnumbered")
        if b.level == 1 then
          if c.title_inlines then report.problem(path, title, "a second title: %s", title) end
          if b.identifier == "" then report.problem(path, title, "the title has no {#id}") end
          c.title, c.title_inlines, c.id = title, b.content, b.identifier
          define(b.identifier, path, { page = c.page, top = true, chapter = c,
            label = c.label and c.kind .. " " .. c.label or title, title = title })
        elseif b.level == 2 then
          section = answers and tonumber(answers) or section + 1
          local number = c.label and not plain and c.label .. "." .. section or nil
          local explicit = b.identifier ~= ""
          if not explicit then b.identifier = "s-" .. slug(title) end
          if explicit then
            define(b.identifier, path, { page = c.page, title = title,
              label = number and "Section " .. number or title })
          end
          table.insert(c.sections, { id = b.identifier, number = number, title = b.content })
          b.attributes.number = number
        elseif b.identifier == "" then
          b.identifier = "s-" .. slug(title)
        else
          define(b.identifier, path, { page = c.page, label = "“" .. title .. "”", title = title })
        end
        div.content[i] = b
      end
    end
    local function other(x)
      if x.t ~= "Header" and x.identifier ~= "" then
        define(x.identifier, path, { page = c.page, label = text_of(x), title = text_of(x) })
      end
    end
    pandoc.walk_block(pandoc.Div(div.content), { Span = other, Div = other, Code = other,
      Image = function(x)
        define(x.identifier, path, { page = c.page, label = "the figure", title = text_of(x) })
      end,
      CodeBlock = function(x)
        if not x.classes:includes("include") then other(x) return end
        local name = x.attributes.region
        if name and not x.classes:includes("again") then
          local r = (source.file(x.attributes.src or "") or { named = {} }).named[name]
          local label = r and string.format("%s, lines %d–%d", r.path, r.first, r.last) or name
          define("code-" .. name, path, { page = c.page, label = label, title = label })
          blocks.shown[x.attributes.src .. ":" .. name] = c
        end
      end })
  end)
  if not c.title then report.problem(c.file, 1, "there is no title, # Title {#name}") end
  c.title = c.title or c.file
  c.title_inlines = c.title_inlines or pandoc.Inlines(c.title)
end

-- What a glossary entry says, for whoever points at a link to it.
local function note_definitions(c)
  each_file(c, function(div)
    pandoc.walk_block(pandoc.Div(div.content), { DefinitionList = function(list)
      for _, item in ipairs(list.content) do
        local meaning = item[2][1] and text_of(pandoc.Div(item[2][1])) or ""
        pandoc.walk_block(pandoc.Plain(item[1]), { Span = function(s)
          if ids[s.identifier] then ids[s.identifier].meaning = meaning end
        end })
      end
    end })
  end)
end

-- ---- Turning elements into what is printed --------------------------------------------------
local function html(text) return pandoc.RawBlock("html", text) end

local function resolve(link, c, path)
  local id = link.target:match("^#(.+)$")
  if id then
    local known = ids[id] or ids["code-" .. id]
    if not known then
      report.problem(path, "#" .. id, "there is no id %s", id)
      return pandoc.Span(#link.content > 0 and link.content or { pandoc.Str("#" .. id) },
        pandoc.Attr("", { "missing" }))
    end
    if not ids[id] then id = "code-" .. id end
    if #link.content == 0 then link.content = pandoc.Inlines(known.label) end
    link.target = known.page == c.page and "#" .. id or
      known.page .. (known.top and "" or "#" .. id)
    local kind = id:match("^([gr])%-")
    if kind and c.number < 91 then
      uses[id] = uses[id] or {}
      uses[id][c.number] = c
      link.classes:insert(kind == "g" and "term" or "cite")
      link.title = known.meaning or ""
    end
    return link
  end
  local file = link.target:gsub("^%.%./", "")
  if not link.target:match("^%a+:") and source.exists(file) then
    link.target = source.page(file)
    return link
  end
end

local printed = {}                                   -- source files that have a page
for _, path in ipairs(source.all()) do printed[path] = true end

local function transform(div, c, path)
  local raw = {}
  local function keep(text)                          -- raw HTML is not walked again
    raw[#raw + 1] = text
    return text
  end
  local filter = {
    CodeBlock = function(cb)
      for _, class in ipairs { "include", "run", "mutant", "here", "measured" } do
        if cb.classes:includes(class) then return html(keep(blocks[class](cb, path))) end
      end
      return html(keep(blocks.plain(cb, path)))
    end,
    Para = function(p)
      if #p.content == 1 and p.content[1].t == "Image" then
        return html(keep(blocks.drawing(p.content[1], path)))
      end
    end,
    Image = function(image) return pandoc.RawInline("html", blocks.drawing(image, path)) end,
    Span = function(s)
      if s.classes:includes("measure") then
        return pandoc.RawInline("html", blocks.measure(s, path))
      end
    end,
    Link = function(link) return resolve(link, c, path) end,
    Code = function(code)
      if printed[code.text] then
        return pandoc.Link({ pandoc.Code(code.text) }, source.page(code.text), "",
          pandoc.Attr("", { "file" }))
      end
    end,
    Table = function(t)                              -- a caption may be wider than its table
      local caption = t.caption.long
      t.caption = { long = {} }
      local div = pandoc.Div({ t }, pandoc.Attr("", { "table" }))
      return #caption == 0 and div or pandoc.Blocks { div, pandoc.Div(caption,
        pandoc.Attr("", { "tablecaption" })) }
    end,
    Header = function(h)
      if h.level == 2 and h.attributes.number then
        h.content:insert(1, pandoc.Space())
        h.content:insert(1, pandoc.Link({ pandoc.Str(h.attributes.number) }, "#" .. h.identifier,
          "", pandoc.Attr("", { "num" })))
        h.attributes.number = nil
      end
      return h
    end,
  }
  -- Links inside links are not allowed: file names in headings and links stay as they are.
  local first = { Para = filter.Para, CodeBlock = filter.CodeBlock, Table = filter.Table }
  local second = { Image = filter.Image, Span = filter.Span, Link = filter.Link }
  local done = pandoc.walk_block(pandoc.walk_block(pandoc.Div(div.content), first), second)
  done = pandoc.walk_block(done, { Plain = function(b) return link_files(b, filter.Code) end,
    Para = function(b) return link_files(b, filter.Code) end })
  done = pandoc.walk_block(done, { Header = filter.Header })
  local out = pandoc.Blocks {}
  for _, b in ipairs(done.content) do
    if not (b.t == "Header" and b.level == 1) then out:insert(b) end
  end
  return out
end

function link_files(block, f)
  local out = pandoc.Inlines {}
  for _, x in ipairs(block.content) do out:insert(x.t == "Code" and f(x) or x) end
  block.content = out
  return block
end

-- Where a term is used, at the end of its entry.
local function add_uses(c)
  each_file(c, function(div)
    local done = pandoc.walk_block(pandoc.Div(div.content), { DefinitionList = function(list)
      for _, item in ipairs(list.content) do
        local found = {}
        pandoc.walk_block(pandoc.Plain(item[1]), { Span = function(s)
          for n, chapter in pairs(uses[s.identifier] or {}) do found[n] = chapter end
        end })
        local numbers = {}
        for n in pairs(found) do numbers[#numbers + 1] = n end
        table.sort(numbers)
        if #numbers > 0 and item[2][1] then
          local line, chapters = {}, {}
          for _, n in ipairs(numbers) do
            local link = pandoc.Link({ pandoc.Str(found[n].label or found[n].title) },
              found[n].page)
            if found[n].label then table.insert(chapters, link) else table.insert(line, link) end
          end
          for i, link in ipairs(chapters) do
            local word = #chapters == 1 and "chapter " or "chapters "
            local before = i > 1 and ", " or #line > 0 and "; " .. word or
              word:gsub("^c", "C")
            table.insert(line, pandoc.Str(before))
            table.insert(line, link)
          end
          item[2][1]:insert(pandoc.Div({ pandoc.Plain(line) }, pandoc.Attr("", { "uses" })))
        end
      end
      return list
    end })
    div.content = done.content
  end)
end

-- ---- The run --------------------------------------------------------------------------------
local function body_of(bs)
  return pandoc.write(pandoc.Pandoc(bs), "html5", PANDOC_WRITER_OPTIONS)
end

-- Marks of the notation that came through as words: a block not closed, a link not made.
function check_markup(c, text)
  local words = text:gsub("<pre.-</pre>", ""):gsub("<code.-</code>", ""):gsub("<math.-</math>", "")
    :gsub("<svg.-</svg>", ""):gsub("<figcaption.-</figcaption>", ""):gsub("<[^>]*>", "")
  for _, mark in ipairs { ":::", "{#", "{.", "](#", "](http", "``" } do
    local at = words:find(mark, 1, true)
    if at then
      local near = words:sub(at, at + 40):match("[^\n]*")
      local file = c.file
      each_file(c, function(_, path)
        if (report.read(path) or ""):find(near:sub(1, 12), 1, true) then file = path end
      end)
      report.problem(file, near:sub(1, 12), "markup that was not understood: %s", near)
    end
  end
end

function Pandoc()
  local written = {}
  for _, c in ipairs(contents.chapters) do
    if c.file then
      read_chapter(c)
      number_headers(c)
    end
  end
  for _, c in ipairs(contents.chapters) do
    if c.file and c.number >= 90 then note_definitions(c) end
  end
  local mutants = {}
  for _, c in ipairs(contents.chapters) do
    if c.file and (not only or only == c.number) then
      each_file(c, function(div)
        pandoc.walk_block(pandoc.Div(div.content), { CodeBlock = function(x)
          if x.classes:includes("mutant") then mutants[#mutants + 1] = x.attributes.name end
        end })
      end)
    end
  end
  blocks.run_mutants(mutants)
  local last = {}                                    -- the glossary after those who link to it
  local function weave(c)
    if c.number == 91 or c.number == 92 then add_uses(c) end
    local body = pandoc.Blocks {}
    each_file(c, function(div, path)
      if not only or only == c.number then
        body:extend(transform(div, c, path))
      else
        pandoc.walk_block(pandoc.Div(div.content), { Link = function(l)
          local id = l.target:match("^#([gr]%-.+)$")
          if id and c.number < 91 then
            uses[id] = uses[id] or {}
            uses[id][c.number] = c
          end
        end })
      end
    end)
    if not only or only == c.number then
      local text = body_of(body)
      for formula in text:gmatch('<span class="math[^>]*>(.-)</span>') do
        report.problem(c.file, formula:match("[^\n]+"), "not a formula: %s", formula)
      end
      check_markup(c, text)
      c.html = text
      written[#written + 1] = c
    end
  end
  for _, c in ipairs(contents.chapters) do
    if c.file then
      if c.number == 91 or c.number == 92 then last[#last + 1] = c else weave(c) end
    end
  end
  for _, c in ipairs(last) do weave(c) end
  if report.count > 0 and not report.draft then
    io.stderr:write("the book is not woven: ", report.count, " wrong\n")
    os.exit(1)
  end
  site.write(written, only)
  return pandoc.Pandoc {}
end
