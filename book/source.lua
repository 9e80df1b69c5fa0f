-- Source files and their regions: a line "//: name" or "#: name" starts a region, which ends at
-- the next such line or at the end of the file.
local report = require "report"
local source = {}
local files = {}

function source.exists(path) return source.file(path) ~= nil end

function source.file(path)
  if files[path] ~= nil then return files[path] or nil end
  local text = report.read(path)
  if not text then files[path] = false; return nil end
  local f = { path = path, lines = {}, regions = {}, named = {} }
  local current
  for line in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch("(.-)\n") do
    f.lines[#f.lines + 1] = line
    local name = line:match("^%s*//: ([%w-]+)%s*$") or line:match("^%s*#: ([%w-]+)%s*$")
    if name then
      current = { name = name, path = path, marker = #f.lines, first = #f.lines + 1, last = #f.lines }
      f.regions[#f.regions + 1] = current
      f.named[name] = current
    elseif current and line:match("%S") then
      current.last = #f.lines
    end
  end
  for _, r in ipairs(f.regions) do
    while r.first < r.last and not f.lines[r.first]:match("%S") do r.first = r.first + 1 end
  end
  files[path] = f
  return f
end

-- The page of a whole file.
function source.page(path) return path:gsub("/", "-") .. ".html" end

-- What is printed whole: everything that is compiled, and how it is built.
function source.all()
  local list = {}
  local find = io.popen("find src tests GNUmakefile chapters/contents.mk -type f 2>/dev/null | LC_ALL=C sort")
  for path in find:lines() do
    if path:match("%.[ch]$") or path:match("%.cu$") or path:match("%.cc$") or
       path:match("%.mk$") or path:match("GNUmakefile$") then
      list[#list + 1] = path
    end
  end
  find:close()
  return list
end

return source
