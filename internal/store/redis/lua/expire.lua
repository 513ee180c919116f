-- Takes the oldest rows of the ledger away: those before a row, and those that are too many. Gives 1 if more are to go.
-- KEYS: requests, their ids, their bytes; or the timeline alone. ARGV: the row that stays (empty: any), how many stay (-1: all), how many it takes at most.
local over = 0
if ARGV[2] ~= '-1' then
  over = math.max(redis.call('ZCARD', KEYS[1]) - ARGV[2], 0)
end
if ARGV[1] ~= '' then
  over = math.max(over, redis.call('ZLEXCOUNT', KEYS[1], '-', '(' .. ARGV[1]))
end
local n = math.min(over, tonumber(ARGV[3]))
if n == 0 then
  return 0
end
if KEYS[2] then
  local bytes = 0
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, n - 1)) do
    local digits, start = string.match(member, '^(%d+):()', 17)
    redis.call('ZREM', KEYS[2], string.sub(member, start, start + digits - 1) .. '\0' .. string.sub(member, 1, 16))
    bytes = bytes + #member - start - digits + 1
  end
  redis.call('DECRBY', KEYS[3], bytes)
end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, n - 1)
if over > n then
  return 1
end
return 0
