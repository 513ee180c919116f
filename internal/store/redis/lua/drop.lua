-- Forgets an instance and pages of it.
-- KEYS: members, of, then pages and at of each topic. ARGV: instance; then for each page which of KEYS are its pages, the packed instance and key, and its
-- entry in of.
redis.call('HDEL', KEYS[1], ARGV[1])
for i = 2, #ARGV, 3 do
  local n = tonumber(ARGV[i])
  redis.call('HDEL', KEYS[n], ARGV[i + 1])
  redis.call('ZREM', KEYS[n + 1], ARGV[i + 1])
  redis.call('SREM', KEYS[2], ARGV[i + 2])
end
return 1
