-- Gives an answer, and those that it continues: id, value, id, value … KEYS: the first one's. ARGV: what the keys of the owner begin with, the id, how
-- many, and how many bytes. The other keys stand in the values; they have the same hash tag.
local out, id, bytes = {}, ARGV[2], 0
for _ = 1, tonumber(ARGV[3]) do
  local value = redis.call('GET', ARGV[1] .. #id .. ':' .. id)
  if not value then
    break
  end
  out[#out + 1] = id
  out[#out + 1] = value
  local from = string.find(value, ':', 1, true)
  local length = from and tonumber(string.sub(value, 1, from - 1))
  if not length then
    break
  end
  id = string.sub(value, from + 1, from + length)
  bytes = bytes + #value - from - length
  if id == '' or bytes >= tonumber(ARGV[4]) then
    break
  end
end
return out
