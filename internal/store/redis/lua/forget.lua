-- Forgets an answer. KEYS: answers, answer-bytes, the answer's. ARGV: what one takes beside its value.
local size = redis.call('STRLEN', KEYS[3])
if size > 0 then
  size = size + tonumber(ARGV[1])
  redis.call('DEL', KEYS[3])
  if redis.call('ZREM', KEYS[1], size .. ' ' .. KEYS[3]) == 1 then
    redis.call('DECRBY', KEYS[2], size)
  end
end
return 1
