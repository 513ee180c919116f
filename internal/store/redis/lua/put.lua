-- Puts pages of one instance and topic whose sequence is higher than that of the page that stands, and tells of them.
-- KEYS: pages, at, and of unless the pages are the fleet's. ARGV: channel, how long keys are kept in ms, the packed topic; then for each page
-- the packed instance and key, the sequence as 20 digits, the body, and '1' if nobody is told.
local time = redis.call('TIME')
local at = time[1] .. string.format('%06d', tonumber(time[2]))
for i = 4, #ARGV, 4 do
  local field, sequence = ARGV[i], ARGV[i + 1]
  local stands = redis.call('HGET', KEYS[1], field)
  if not stands or string.sub(stands, 1, 20) < sequence then
    local page = sequence .. at .. ARGV[i + 2]
    redis.call('HSET', KEYS[1], field, page)
    redis.call('ZADD', KEYS[2], at, field)
    if KEYS[3] then
      redis.call('SADD', KEYS[3], ARGV[3] .. field)
    end
    if ARGV[i + 3] ~= '1' then
      redis.call('PUBLISH', ARGV[1], ARGV[3] .. field .. page)
    end
  end
end
for i = 1, #KEYS do
  if redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) - 3600000 then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return 1
