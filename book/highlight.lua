-- Code as HTML, one string a line.  Classes: c comment, s string, n number, k keyword, t type,
-- f function, p preprocessor, q what CUDA adds to C.
local highlight = {}

local function set(words)
  local t = {}
  for w in words:gmatch("%S+") do t[w] = true end
  return t
end

local KEYWORDS = set [[auto break case const continue default do else enum extern for goto if
  inline register restrict return sizeof static struct switch typedef union volatile while
  static_assert _Static_assert alignas alignof class constexpr delete explicit false friend
  namespace new nullptr operator private public template this true typename using virtual
  thread_local noexcept static_cast reinterpret_cast const_cast NULL]]
local TYPES = set [[bool char double float int long short signed unsigned void half __half
  __half2 half2 dim3 float2 float4 int2 int4 uint2 uint4 cudaStream_t cudaError_t cudaGraph_t
  cudaGraphExec_t FILE]]
local CUDA = set [[threadIdx blockIdx blockDim gridDim warpSize]]
local QUALIFIERS = set [[__global__ __device__ __host__ __shared__ __constant__ __restrict__
  __forceinline__ __noinline__ __launch_bounds__ __align__]]

local ENTITY = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
function highlight.escape(s) return (s:gsub('[&<>"]', ENTITY)) end

local function word_class(word, text, after)
  if KEYWORDS[word] then return "k" end
  if TYPES[word] or word:match("^[%l%d_]+_t$") then return "t" end
  if CUDA[word] or QUALIFIERS[word] then return "q" end
  if text:match("^%s*%(", after) then return word:match("^__") and "q" or "f" end
end

-- The token at a place: its last byte and its class.
local function c_token(text, at)
  local two = text:sub(at, at + 1)
  if two == "//" then return text:find("\n", at, true), "c", true end
  if two == "/*" then return select(2, text:find("*/", at + 2, true)) or #text, "c" end
  local _, last = text:find("^[%a_][%w_]*", at)
  if last then return last, word_class(text:sub(at, last), text, last + 1) end
  _, last = text:find("^%.?%d[%w_.']*", at)
  if last then
    while text:match("^[eEpP][+-]%d", last) do _, last = text:find("^[+-][%w_.]*", last + 1) end
    return last, "n"
  end
  local quote = text:match("^[\"']", at)
  if quote then
    last = at + 1
    while last <= #text and text:sub(last, last) ~= quote and text:sub(last, last) ~= "\n" do
      last = last + (text:sub(last, last) == "\\" and 2 or 1)
    end
    return last, "s"
  end
  if text:sub(at, at) == "#" and text:sub(1, at - 1):match("[^\n]*$"):match("^%s*$") then
    _, last = text:find("^#%s*%a*", at)
    local _, path = text:find("^ <[^>\n]*>", last + 1)
    return path or last, "p"
  end
  return at
end

local function hash_token(text, at)                         -- shell, make, tables
  local before = text:sub(at - 1, at - 1)
  if text:sub(at, at) == "#" and (before == "" or before:match("%s")) then
    return text:find("\n", at, true), "c", true
  end
  local _, last = text:find('^"[^"\n]*"', at)
  if not last then _, last = text:find("^'[^'\n]*'", at) end
  if last then return last, "s" end
  _, last = text:find("^[%w_./+-]+", at)
  return last or at
end

local function no_token(text) return #text end

local LANGUAGES = { c = c_token, cuda = c_token, cpp = c_token, h = c_token, cu = c_token,
  cc = c_token, sh = hash_token, bash = hash_token, shell = hash_token, console = hash_token,
  make = hash_token, makefile = hash_token, mk = hash_token, tsv = hash_token, text = no_token,
  txt = no_token, diff = no_token, ptx = no_token, sass = no_token, asm = no_token,
  regex = no_token, none = no_token, output = no_token, markdown = no_token }

function highlight.known(language) return LANGUAGES[language] ~= nil end

function highlight.language(path)
  local suffix = path:match("%.(%w+)$") or path:match("(%a+)$"):lower()
  if suffix == "gnumakefile" then suffix = "make" end
  return LANGUAGES[suffix] and suffix or "text"
end

-- Whether a word is the name of a function, a struct or a macro, not of a field or a variable.
local function is_name(text, at, last)
  local word = text:sub(at, last)
  if not word:match("^[%a_][%w_]*$") or text:match("^[.>]", at - 1) then return false end
  return text:match("^%(", last + 1) or text:sub(math.max(1, at - 7), at - 1):match("^struct ") or
    word:match("^[%u%d_]+$") and #word > 2 or word:match("_kernel$") or
    word:match("_") and text:match("^[,;)]", last + 1)
end

-- link(word) may give where a word of code leads; such links are no stops of the Tab key.
function highlight.lines(lines, language, link)
  local text, token = table.concat(lines, "\n") .. "\n", LANGUAGES[language] or no_token
  local out, at = {}, 1
  while at <= #text do
    local last, class, before = token(text, at)
    last = last or #text
    if before then last = last - 1 end
    local piece = highlight.escape(text:sub(at, last))
    local target = link and is_name(text, at, last) and link(piece)
    if target then
      piece = string.format('<a href="%s" tabindex="-1">%s</a>', target, piece)
    elseif class then
      local open = '<i class="' .. class .. '">'
      piece = open .. piece:gsub("\n", "</i>\n" .. open) .. "</i>"
    end
    out[#out + 1] = piece
    at = last + 1
  end
  local html = {}
  for line in table.concat(out):gmatch("(.-)\n") do html[#html + 1] = line end
  return html
end

return highlight
