package wiretest_test

import "testing"

// bedrockSpec is the shapes of Converse as JSON Schemas, with what the API has learned since the model was published.
func bedrockSpec(t testing.TB) *specification {
	t.Helper()
	shapes := at(shipped(t, "bedrock.json"), "shapes").(object)
	learned(shapes)
	schemas := object{}
	for name, shape := range shapes {
		schemas[name] = schemaOfShape(shape)
	}
	return newSpecification(t, schemas)
}

// schemaOfShape turns a shape of AWS's model into a JSON Schema. What stands in the path is no member of the body.
func schemaOfShape(shape any) any {
	if at(shape, "document") == true {
		return true
	}
	out := object{}
	if v := at(shape, "enum"); v != nil {
		out["enum"] = v
	}
	if p := str(shape, "pattern"); p != "" {
		out["pattern"] = "^(?:" + p + ")$"
	}
	lowest, highest := "minimum", "maximum"
	switch str(shape, "type") {
	case "structure":
		members := object{}
		out["type"], out["properties"] = "object", members
		fields, _ := at(shape, "members").(object)
		for name, m := range fields {
			if at(m, "location") == nil {
				members[name] = refToShape(m)
			}
		}
		var required array
		for _, name := range items(shape, "required") {
			if members[name.(string)] != nil {
				required = append(required, name)
			}
		}
		if required != nil {
			out["required"] = required
		}
		if at(shape, "union") == true {
			out["minProperties"], out["maxProperties"] = 1, 1
		}
		return out
	case "list":
		out["type"], out["items"] = "array", refToShape(at(shape, "member"))
		lowest, highest = "minItems", "maxItems"
	case "map":
		out["type"], out["additionalProperties"] = "object", refToShape(at(shape, "value"))
		lowest, highest = "minProperties", "maxProperties"
	case "boolean":
		out["type"] = "boolean"
	case "integer", "long":
		out["type"] = "integer"
	case "float", "double":
		out["type"] = "number"
	case "blob":
		return object{"type": "string"} // base64; its limits are of bytes
	default: // string
		out["type"] = "string"
		lowest, highest = "minLength", "maxLength"
	}
	for from, to := range map[string]string{"min": lowest, "max": highest} {
		if v := at(shape, from); v != nil {
			out[to] = v
		}
	}
	return out
}

func refToShape(m any) any { return object{"$ref": schemasPlace + str(m, "shape")} }

// learned adds what Converse takes beyond the model that is shipped: it is of 2024, the newest that was published in that
// form, and lacks the members that hold any JSON, which the SDK it was made for could not say. The names are those of AWS's
// API reference; recorded traffic shows most of them.
func learned(shapes object) {
	add := func(shape string, members object) {
		s := at(shapes, shape).(object)
		to := at(s, "members").(object)
		for name, m := range members {
			to[name] = m
		}
	}
	shape := func(name string) object { return object{"shape": name} }
	structure := func(members object, required ...any) object {
		return object{"type": "structure", "members": members, "required": required}
	}
	text := object{"type": "string"}
	shapes["AnyText"] = text
	shapes["AnyFlag"] = object{"type": "boolean"}
	shapes["AnyDocument"] = object{"document": true}
	shapes["ToolUse"] = structure(object{"toolUseId": shape("ToolUseId"), "name": shape("ToolName"), "input": shape("AnyDocument")}, "toolUseId", "name", "input")
	at(shapes, "ToolName").(object)["pattern"] = "[a-zA-Z0-9_-]+" // had to begin with a letter, and took no hyphen
	add("ContentBlock", object{"toolUse": shape("ToolUse")})
	add("ToolInputSchema", object{"json": shape("AnyDocument")})
	add("ToolResultContentBlock", object{"json": shape("AnyDocument")})
	add("ConverseRequest", object{"additionalModelRequestFields": shape("AnyDocument")})
	shapes["CachePoint"] = structure(object{"type": shape("CacheKind"), "ttl": shape("CacheTime")}, "type")
	shapes["CacheKind"] = object{"type": "string", "enum": array{"default"}}
	shapes["CacheTime"] = object{"type": "string", "enum": array{"5m", "1h"}}
	shapes["ReasoningText"] = structure(object{"text": shape("AnyText"), "signature": shape("AnyText")}, "text")
	shapes["ReasoningContent"] = object{"type": "structure", "union": true, "members": object{"reasoningText": shape("ReasoningText"), "redactedContent": shape("AnyText")}}
	add("ContentBlock", object{"reasoningContent": shape("ReasoningContent"), "cachePoint": shape("CachePoint"), "citationsContent": shape("AnyDocument"), "video": shape("VideoBlock")})
	add("SystemContentBlock", object{"cachePoint": shape("CachePoint")})
	add("Tool", object{"cachePoint": shape("CachePoint")})
	shapes["VideoBlock"] = structure(object{"format": shape("AnyText"), "source": shape("VideoSource")}, "format", "source")
	shapes["S3Location"] = structure(object{"uri": shape("AnyText"), "bucketOwner": shape("AnyText")}, "uri")
	shapes["VideoSource"] = object{"type": "structure", "union": true, "members": object{"bytes": shape("AnyText"), "s3Location": shape("S3Location")}}
	shapes["DocumentText"] = object{"type": "list", "member": shape("DocumentTextBlock")}
	shapes["DocumentTextBlock"] = structure(object{"text": shape("AnyText")})
	add("DocumentSource", object{"text": shape("AnyText"), "content": shape("DocumentText"), "s3Location": shape("S3Location")})
	add("ImageSource", object{"s3Location": shape("S3Location")})
	shapes["CitationsSwitch"] = structure(object{"enabled": shape("AnyFlag")}, "enabled")
	add("DocumentBlock", object{"context": shape("AnyText"), "citations": shape("CitationsSwitch")})
	add("ToolResultContentBlock", object{"video": shape("VideoBlock")})
	add("ToolSpecification", object{"strict": shape("AnyFlag")})
	shapes["AnyTexts"] = object{"type": "map", "value": shape("AnyText"), "max": 16}
	shapes["LatencyConfig"] = structure(object{"latency": shape("LatencyKind")})
	shapes["LatencyKind"] = object{"type": "string", "enum": array{"standard", "optimized"}}
	shapes["ServiceTier"] = structure(object{"type": shape("TierKind")}, "type")
	shapes["TierKind"] = object{"type": "string", "enum": array{"priority", "default", "flex", "reserved"}}
	add("ConverseRequest", object{
		"requestMetadata": shape("AnyTexts"), "performanceConfig": shape("LatencyConfig"), "serviceTier": shape("ServiceTier"), "outputConfig": shape("OutputConfig"),
		"promptVariables": shape("AnyDocument"),
	})
	shapes["OutputConfig"] = structure(object{"textFormat": shape("TextFormat"), "effort": shape("AnyText")})
	shapes["TextFormat"] = structure(object{"type": shape("TextFormatKind"), "structure": shape("TextStructure")}, "type", "structure")
	shapes["TextFormatKind"] = object{"type": "string", "enum": array{"json_schema"}}
	shapes["TextStructure"] = object{"type": "structure", "union": true, "members": object{"jsonSchema": shape("TextSchema")}}
	shapes["TextSchema"] = structure(object{"schema": shape("AnyText"), "name": shape("AnyText"), "description": shape("AnyText")}, "schema")
}
