-- Where each function, struct and macro of src/ is defined, so that its uses can lead there.
local source = require "source"
local names = { list = {} }
local everywhere, within = {}, {}

-- What line n of a file defines: its name, and whether other files can mean it.
local function definition(f, n)
  local line = f.lines[n]
  local macro = line:match("^#define ([%a_][%w_]*)")
  if macro then return not macro:match("^LANEWISE_.*_H$") and macro or nil, true end
  local tag = line:match("^struct ([%a_][%w_]*)[ {]*$") or line:match("^enum ([%a_][%w_]*)[ {]*$")
  if tag then return tag, true end
  if not line:match("^[%a_]") or line:match("^%a+%s*%(") or line:match("^extern") or
     line:match("^using") or line:match("^typedef") or line:match("^static_assert") then
    return nil
  end
  local name = line:gsub("__launch_bounds__%([^)]*%)", "")
    :match("^[%w_ *&<>:,]-%f[%w_]([%a_][%w_]*)%s*%(")
  if not name then return nil end
  for m = n, math.min(n + 8, #f.lines) do            -- a declaration ends before any brace
    local brace, semicolon = f.lines[m]:find("{", 1, true), f.lines[m]:find(";", 1, true)
    if brace then break end
    if semicolon then return nil end
  end
  return name, not line:match("^static") and (f.path:match("%.[ch]$") or name:match("_cuda$"))
end

for _, path in ipairs(source.all()) do
  if path:match("^src/") then
    within[path] = {}
    local f = source.file(path)
    local region
    for n in ipairs(f.lines) do
      for _, r in ipairs(f.regions) do if r.marker == n then region = r end end
      local name, shared = definition(f, n)
      if name then
        local place = { name = name, path = path, line = n, region = region and region.name }
        within[path][name] = within[path][name] or place
        if shared then
          if everywhere[name] == nil then everywhere[name] = place
          elseif everywhere[name] and everywhere[name].path ~= path then everywhere[name] = false end
        end
        names.list[#names.list + 1] = place
      end
    end
  end
end

function names.find(word, path)
  return within[path] and within[path][word] or everywhere[word] or nil
end

return names
