-- Lays down what one instance counted on meters, and gives what all have counted on those that are wanted. A meter is a hash: by instance the version as 20
-- digits, when it was laid down and until when it is kept, in µs as 16 digits each, and the body. KEYS: the meters. ARGV: how many of them are wanted, which
-- are the first; how long one key lives at least, in ms; then for each tally the number of its key, instance, version, life in ms, and body.
local time = redis.call('TIME')
local at = time[1] .. string.format('%06d', tonumber(time[2]))
local now = tonumber(at)
for i = 3, #ARGV, 5 do
  local key = KEYS[tonumber(ARGV[i])]
  local stands = redis.call('HGET', key, ARGV[i + 1])
  if not stands or string.sub(stands, 1, 20) <= ARGV[i + 2] then
    local life = tonumber(ARGV[i + 3])
    local till = string.format('%016.0f', now + life * 1000)
    redis.call('HSET', key, ARGV[i + 1], ARGV[i + 2] .. at .. till .. ARGV[i + 4])
    if redis.call('PTTL', key) < life then
      redis.call('PEXPIRE', key, math.max(life, tonumber(ARGV[2])))
    end
  end
end
local out = {}
for k = 1, tonumber(ARGV[1]) do
  local all = redis.call('HGETALL', KEYS[k])
  for i = 1, #all, 2 do
    local v = all[i + 1]
    if tonumber(string.sub(v, 37, 52)) < now then
      redis.call('HDEL', KEYS[k], all[i])
    else
      local n = #out
      out[n + 1], out[n + 2], out[n + 3] = tostring(k), all[i], string.sub(v, 1, 20)
      out[n + 4], out[n + 5] = string.format('%.0f', now - tonumber(string.sub(v, 21, 36))), string.sub(v, 53)
    end
  end
end
return out
