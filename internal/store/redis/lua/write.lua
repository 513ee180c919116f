-- Lays down rows of the ledger, and adds what they come to, if none of them is there; else it gives the rows that are, and changes nothing.
-- KEYS: requests, their ids, their bytes, timeline, sums, then the bucket of each group of sums.
-- ARGV: life in ms, room in bytes, how many requests, how many entries, how many groups; then of each request its row, its id and its body; of each entry its row
-- and its body; of each group the step and the beginning of its bucket, for how many ms that is kept, the group, and the numbers.
local life, room = ARGV[1], tonumber(ARGV[2])
local requests, entries, groups = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local function stands(key, row)
  return #redis.call('ZRANGEBYLEX', key, '[' .. row, '(' .. row .. '\255', 'LIMIT', 0, 1) > 0
end
local there, at = {}, 5
for i = 1, requests do
  if stands(KEYS[1], ARGV[at + 1]) then
    there[#there + 1] = ARGV[at + 1]
  end
  at = at + 3
end
if #there > 0 then
  return there
end
local bytes, at = math.max(tonumber(redis.call('GET', KEYS[3]) or '0'), 0), 5
for i = 1, requests do
  local row, id, body = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  redis.call('ZADD', KEYS[1], 0, row .. #id .. ':' .. id .. body)
  redis.call('ZADD', KEYS[2], 0, id .. '\0' .. row)
  bytes = bytes + #body
  at = at + 3
end
for i = 1, entries do
  if not stands(KEYS[4], ARGV[at + 1]) then
    redis.call('ZADD', KEYS[4], 0, ARGV[at + 1] .. ARGV[at + 2])
  end
  at = at + 2
end
-- Numbers are whole, of up to 19 digits: more than Lua's are exact to. high counts 10^12.
local function parts(digits)
  return tonumber(string.sub(digits, 1, -13)) or 0, tonumber(string.sub(digits, -12))
end
local function sum(a, b)
  if a == '0' then
    return b
  end
  if #a < 15 and #b < 15 then
    return string.format('%.0f', tonumber(a) + tonumber(b))
  end
  local high, low = parts(a)
  local more, rest = parts(b)
  high, low = high + more, low + rest
  if low >= 1e12 then
    high, low = high + 1, low - 1e12
  end
  if high > 9223372 or high == 9223372 and low > 36854775807 then
    return '9223372036854775807'
  end
  return string.format('%.0f%012.0f', high, low)
end
for i = 1, groups do
  local bucket, step, from, kept, group, added = KEYS[5 + i], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  local had = redis.call('HGET', bucket, group)
  if had then
    local old, out = string.gmatch(had, '%d+'), {}
    for number in string.gmatch(added, '%d+') do
      out[#out + 1] = sum(old() or '0', number)
    end
    for number in old do -- of a newer program
      out[#out + 1] = number
    end
    added = table.concat(out, ' ')
  end
  redis.call('HSET', bucket, group, added)
  redis.call('ZADD', KEYS[5], 0, step .. from)
  redis.call('PEXPIRE', bucket, kept)
  at = at + 5
end
while bytes > room do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 99)
  if #oldest == 0 then
    bytes = 0
    break
  end
  local n = 0
  for _, member in ipairs(oldest) do
    if bytes <= room then
      break
    end
    local digits, start = string.match(member, '^(%d+):()', 17)
    redis.call('ZREM', KEYS[2], string.sub(member, start, start + digits - 1) .. '\0' .. string.sub(member, 1, 16))
    bytes, n = bytes - (#member - start - digits + 1), n + 1
  end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, n - 1)
end
redis.call('SET', KEYS[3], string.format('%.0f', bytes))
for i = 1, 5 do
  redis.call('PEXPIRE', KEYS[i], life)
end
return {}
