-- Gives all places of pages in the index since a time, the latest first, and the first of the pages.
-- KEYS: pages, at. ARGV: since, how many at most (-1: all), how many pages at once.
local fields = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', ARGV[1], 'LIMIT', '0', ARGV[2])
if #fields == 0 then
  return {fields, {}}
end
return {fields, redis.call('HMGET', KEYS[1], unpack(fields, 1, math.min(#fields, tonumber(ARGV[3]))))}
