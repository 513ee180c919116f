-- Keeps answers, and makes room. KEYS: answers, answer-bytes, then the key of each answer. ARGV: life in ms, room in bytes, what one takes beside
-- its value, then each value. A member of answers is the size and the key, so that what expired by itself can be taken off the sum, too.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local till = string.format('%.0f', now + tonumber(ARGV[1]) * 1000)
local cost, sum = tonumber(ARGV[3]), tonumber(redis.call('GET', KEYS[2]) or '0')
local function leave(member)
  if redis.call('ZREM', KEYS[1], member) == 1 then
    sum = sum - tonumber(string.match(member, '^%d+'))
  end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)) do
  leave(member)
end
for i = 3, #KEYS do
  local value = ARGV[i + 1]
  local stood = redis.call('STRLEN', KEYS[i])
  if stood > 0 then
    leave((stood + cost) .. ' ' .. KEYS[i])
  end
  redis.call('SET', KEYS[i], value, 'PX', ARGV[1])
  redis.call('ZADD', KEYS[1], till, (#value + cost) .. ' ' .. KEYS[i])
  sum = sum + #value + cost
end
while sum > tonumber(ARGV[2]) do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 99)
  if #oldest == 0 then
    sum = 0
  end
  for _, member in ipairs(oldest) do
    if sum > tonumber(ARGV[2]) then
      redis.call('DEL', (string.gsub(member, '^%d+ ', '')))
      leave(member)
    end
  end
end
redis.call('SET', KEYS[2], string.format('%.0f', math.max(sum, 0)), 'PX', ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
