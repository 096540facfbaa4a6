-- The cell of a request, for envoy.yaml: by the maps that `keys-map` prints, else by the name in the key (pix_<cell>.<random>).
-- Envoy reads the maps when it starts.
local bit = require("bit")
local band, bnot, bxor, ror, rshift = bit.band, bit.bnot, bit.bxor, bit.ror, bit.rshift

local function map(path)
  local cells = {}
  for line in io.lines(path) do
    local name, cell = line:match("^(%S+) (%S+)$")
    if name then cells[name] = cell end
  end
  return cells
end

-- The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2), and of the square roots of eight.
local constants, initial = {}, {}
do
  local function isPrime(n)
    for divisor = 2, math.sqrt(n) do
      if n % divisor == 0 then return false end
    end
    return true
  end
  local function fraction(root) return bit.tobit(math.floor((root - math.floor(root)) * 2 ^ 32)) end
  local n = 2
  while #constants < 64 do
    if isPrime(n) then
      constants[#constants + 1] = fraction(n ^ (1 / 3))
      if #initial < 8 then initial[#initial + 1] = fraction(math.sqrt(n)) end
    end
    n = n + 1
  end
end

local function word(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return bit.bor(bit.lshift(a, 24), bit.lshift(b, 16), bit.lshift(c, 8), d)
end

local function number(n)
  return string.char(band(rshift(n, 24), 255), band(rshift(n, 16), 255), band(rshift(n, 8), 255), band(n, 255))
end

-- SHA-256 in hexadecimal.
function sha256(text)
  local padded = text .. "\128" .. ("\0"):rep((55 - #text) % 64) .. number(0) .. number(#text * 8)
  local hash, schedule = { unpack(initial) }, {}
  for block = 1, #padded, 64 do
    for i = 1, 16 do schedule[i] = word(padded, block + (i - 1) * 4) end
    for i = 17, 64 do
      local x, y = schedule[i - 15], schedule[i - 2]
      local s0 = bxor(ror(x, 7), ror(x, 18), rshift(x, 3))
      local s1 = bxor(ror(y, 17), ror(y, 19), rshift(y, 10))
      schedule[i] = bit.tobit(schedule[i - 16] + s0 + schedule[i - 7] + s1)
    end
    local a, b, c, d, e, f, g, h = unpack(hash)
    for i = 1, 64 do
      local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25))
      local t1 = h + s1 + bxor(band(e, f), band(bnot(e), g)) + constants[i] + schedule[i]
      local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22))
      local t2 = s0 + bxor(band(a, b), band(a, c), band(b, c))
      h, g, f, e, d, c, b, a = g, f, e, bit.tobit(d + t1), c, b, a, bit.tobit(t1 + t2)
    end
    for i, value in ipairs({ a, b, c, d, e, f, g, h }) do hash[i] = bit.tobit(hash[i] + value) end
  end
  local hex = {}
  for i, value in ipairs(hash) do hex[i] = bit.tohex(value) end
  return table.concat(hex)
end

local cellOfKey = map("/etc/envoy/keys.map")
local cellOfConnection = map("/etc/envoy/connections.map")

function cellOf(path, key)
  if not path:match("^/v1/") then return cellOfConnection[path:gsub("^/webhooks/", "/"):match("^/([^/?]+)")] end
  if not key or #key > 256 then return nil end
  -- The map wins over the key's own cell: an account may have moved.
  return cellOfKey[sha256(key)] or key:match("^pix_([^.]+)%.")
end

function envoy_on_request(request)
  local headers = request:headers()
  headers:remove("x-cell")
  local cell = cellOf(headers:get(":path"), headers:get("x-api-key"))
  if cell then headers:add("x-cell", cell) end
end
