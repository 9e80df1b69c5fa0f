-- The table of contents: chapters of contents.mk and the files in chapters/, in reading order.
local report = require "report"
local contents = { chapters = {}, of_part = {} }

local planned = {}
for line in (report.read("chapters/contents.mk") or ""):gmatch("[^\n]+") do
  local n, parts, title = line:match("^chapter%-(%d+)%s*:=%s*([^#]-)%s*#%s*(.-)%s*$")
  if n then
    planned[n] = { number = tonumber(n), title = title, parts = {} }
    for p in parts:gmatch("%S+") do table.insert(planned[n].parts, p) end
  end
end

local find = io.popen("ls chapters/[0-9][0-9]-*.md 2>/dev/null")
for path in find:lines() do
  local n = path:match("/(%d%d)")
  local c = planned[n] or { number = tonumber(n), parts = {} }
  if c.file then report.problem(path, 1, "a second file of chapter %s", n) end
  c.file, c.page = path, path:match("([^/]*)%.md$") .. ".html"
  if not planned[n] and c.number < 90 then
    report.problem(path, 1, "chapters/contents.mk has no chapter-%s", n)
  end
  planned[n] = c
end
find:close()

for _, c in pairs(planned) do table.insert(contents.chapters, c) end
table.sort(contents.chapters, function(a, b) return a.number < b.number end)
for _, c in ipairs(contents.chapters) do
  if c.number >= 90 then
    c.label = string.char(65 + c.number - 90)
    c.kind = "Appendix"
  elseif c.number > 0 then
    c.label = tostring(c.number)
    c.kind = "Chapter"
  end
  for _, p in ipairs(c.parts) do contents.of_part[p] = c end
  if not c.file and not report.draft then
    report.problem("chapters/contents.mk", string.format("chapter-%02d", c.number),
      "chapter %d has no file chapters/%02d-*.md", c.number, c.number)
  end
end

-- The part and the chapter that a source file belongs to.
function contents.of_file(path)
  local part = path:match("^src/([%w_]+)%.[ch]$") or path:match("^src/cuda/([%w_]+)%.%a+$") or
    path:match("^tests/([%w_]+)_test%.c$") or path:match("^tests/cuda/([%w_]+)_test%.cu$")
  local answers = path:match("^tests/answers/chapter%-(%d%d)_test%.c$")
  if answers then
    for _, c in ipairs(contents.chapters) do
      if c.number == tonumber(answers) then return c end
    end
  end
  return contents.of_part[part or ""], part
end

return contents
