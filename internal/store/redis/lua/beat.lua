-- Announces an instance, has the keys live on, and gives the time.
-- KEYS: members, then others. ARGV: instance, what is known of it, and for each key how long it is kept in ms.
local time = redis.call('TIME')
local at = time[1] .. string.format('%06d', tonumber(time[2]))
redis.call('HSET', KEYS[1], ARGV[1], at .. ARGV[2])
for i = 1, #KEYS do
  local keep = tonumber(ARGV[i + 2])
  if redis.call('PTTL', KEYS[i]) < keep - 3600000 then
    redis.call('PEXPIRE', KEYS[i], keep)
  end
end
return at
