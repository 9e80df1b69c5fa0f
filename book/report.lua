-- What is wrong with the book, gathered as file:line: message.  In a draft it is printed and
-- shown on the page; otherwise nothing is written and the press fails.
local report = { draft = os.getenv("BOOK_DRAFT") == "yes", count = 0 }
local texts, seen = {}, {}

function report.read(path)
  if texts[path] == nil then
    local f = io.open(path, "rb")
    texts[path] = f and f:read("a") or false
    if f then f:close() end
  end
  return texts[path] or nil
end

-- The first line of a file with the given words, from a line on; 1 where there is none.
function report.line_of(path, words)
  local text = report.read(path) or ""
  local at = text:find(words, 1, true)
  if not at then return 1 end
  local _, newlines = text:sub(1, at):gsub("\n", "")
  return newlines + 1
end

function report.problem(path, words, format, ...)
  local message = string.format(format, ...)
  local line = type(words) == "number" and words or report.line_of(path, words or "\0")
  local whole = string.format("%s:%d: %s", path, line, message)
  if not seen[whole] then
    seen[whole] = true
    report.count = report.count + 1
    io.stderr:write(report.draft and "draft: " or "", whole, "\n")
  end
  return message
end

return report
