import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** Reads cases of conversions as JSON lines, and answers each with a line: what the real converters make of the records. */
public class Converters {
    private static final ObjectMapper JSON =
            JsonMapper.builder(JsonFactory.builder().configure(JsonWriteFeature.ESCAPE_NON_ASCII, true).build()).build();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.flush();
        }
    }

    private static ObjectNode answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            switch (request.get("do").asText()) {
                case "convert" -> convert(request, answer);
                case "read" -> read(request, answer);
                case "avro data" -> avroData(request, answer);
                case "floats" -> floats(request, answer);
                default -> throw new IllegalArgumentException(request.get("do").asText());
            }
        } catch (Throwable problem) {
            answer.set("failed", error(problem));
        }
        return answer;
    }

    private static ObjectNode error(Throwable problem) {
        Throwable shown = problem instanceof InvocationTargetException && problem.getCause() != null ? problem.getCause() : problem;
        StringBuilder text = new StringBuilder();
        for (Throwable each = shown; each != null; each = each.getCause()) {
            text.append(text.isEmpty() ? "" : " <- ").append(each.getClass().getName()).append(": ").append(each.getMessage());
        }
        return JSON.createObjectNode().put("error", shown.getClass().getSimpleName()).put("text", text.toString());
    }

    private static Map<String, Object> options(JsonNode request) {
        Map<String, Object> options = new LinkedHashMap<>();
        request.get("options").properties().forEach(each -> options.put(each.getKey(), each.getValue().asText()));
        return options;
    }

    private static void convert(JsonNode request, ObjectNode answer) throws Exception {
        Object made;
        String side = request.get("side").asText();
        Map<String, Object> options = options(request);
        try {
            Class<?> type = Class.forName(request.get("class").asText());
            made = type.getConstructor().newInstance();
            if (side.equals("header")) {
                options.put("converter.type", "header");
                ((HeaderConverter) made).configure(options);
            } else {
                ((Converter) made).configure(options, side.equals("key"));
            }
        } catch (Throwable problem) {
            answer.set("refused", error(problem));
            return;
        }
        ArrayNode answers = answer.putArray("answers");
        for (JsonNode record : request.get("records")) {
            answers.add(converted(made, side, request.get("topic").asText(), record));
        }
        if (request.has("scope")) {
            registered(request.get("scope").asText(), answer);
        }
    }

    private static ObjectNode converted(Object made, String side, String topic, JsonNode record) {
        ObjectNode answer = JSON.createObjectNode();
        Schema schema;
        Object value;
        RecordHeaders headers = new RecordHeaders();
        try {
            schema = schema(record.get("schema"));
            value = value(schema, record.get("value"));
            for (JsonNode header : record.path("headers")) {
                headers.add(header.get(0).asText(), header.get(1).isNull() ? null : header.get(1).binaryValue());
            }
        } catch (Throwable problem) {
            answer.set("impossible", error(problem));
            return answer;
        }
        try {
            byte[] found;
            if (side.equals("header")) {
                found = ((HeaderConverter) made).fromConnectHeader(topic, "name", schema, value);
            } else {
                found = ((Converter) made).fromConnectData(topic, headers, schema, value);
            }
            answer.put("bytes", found);
            ArrayNode sent = answer.putArray("headers");
            headers.forEach(each -> sent.addArray().add(each.key()).add(each.value()));
        } catch (Throwable problem) {
            answer.setAll(error(problem));
        }
        return answer;
    }

    private static void registered(String scope, ObjectNode answer) throws Exception {
        Class<?> registries = Class.forName("io.confluent.kafka.schemaregistry.testutil.MockSchemaRegistry");
        Object client = registries.getMethod("getClientForScope", String.class).invoke(null, scope);
        ArrayNode found = answer.putArray("registered");
        for (Object subject : new TreeSet<>((Collection<?>) call(client, "getAllSubjects"))) {
            Method versions = client.getClass().getMethod("getAllVersions", String.class);
            Collection<?> known;
            try {
                known = (Collection<?>) versions.invoke(client, subject);
            } catch (InvocationTargetException unknown) {
                // What failed to be registered leaves a subject without versions.
                continue;
            }
            for (Object version : known) {
                Object data = client.getClass().getMethod("getSchemaMetadata", String.class, int.class).invoke(client, subject, version);
                ObjectNode each = found.addObject().put("subject", (String) subject).put("id", (Integer) call(data, "getId"));
                each.put("type", (String) call(data, "getSchemaType")).put("text", (String) call(data, "getSchema"));
                ArrayNode references = each.putArray("references");
                for (Object reference : (Collection<?>) call(data, "getReferences")) {
                    references.addArray().add((String) call(reference, "getName")).add((String) call(reference, "getSubject"));
                }
            }
        }
        registries.getMethod("dropScope", String.class).invoke(null, scope);
    }

    private static Object call(Object of, String method) throws Exception {
        return of.getClass().getMethod(method).invoke(of);
    }

    private static void read(JsonNode request, ObjectNode answer) throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(options(request), false);
        ArrayNode answers = answer.putArray("answers");
        for (JsonNode document : request.get("documents")) {
            ObjectNode each = answers.addObject();
            try {
                SchemaAndValue both = converter.toConnectData("t", document.binaryValue());
                each.set("schema", shownSchema(both.schema()));
                each.set("value", shown(both.value()));
            } catch (Throwable problem) {
                each.setAll(error(problem));
            }
        }
    }

    /** Apicurio's mapping to Avro alone, without its registry. */
    private static void avroData(JsonNode request, ObjectNode answer) throws Exception {
        Class<?> type = Class.forName("io.apicurio.registry.utils.converter.avro.AvroData");
        Object data = type.getConstructor(int.class).newInstance(100);
        for (String flag : options(request).keySet()) {
            java.lang.reflect.Field field = type.getDeclaredField(flag);
            field.setAccessible(true);
            field.setBoolean(data, request.get("options").get(flag).asBoolean());
        }
        Method schemas = type.getMethod("fromConnectSchema", Schema.class);
        Method values = type.getMethod("fromConnectData", Schema.class, Object.class);
        ArrayNode answers = answer.putArray("answers");
        for (JsonNode record : request.get("records")) {
            ObjectNode each = answers.addObject();
            try {
                Schema schema = schema(record.get("schema"));
                Object avro = schemas.invoke(data, schema);
                each.put("schema", avro.toString());
                Object datum = values.invoke(data, schema, value(schema, record.get("value")));
                if (datum != null && datum.getClass().getSimpleName().equals("NonRecordContainer")) {
                    datum = datum.getClass().getMethod("getValue").invoke(datum);
                }
                each.put("bytes", written(avro, datum));
            } catch (Throwable problem) {
                each.setAll(error(problem));
            }
        }
    }

    private static byte[] written(Object schema, Object datum) throws Exception {
        // By name, so that this compiles without Avro.
        java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
        Class<?> encoders = Class.forName("org.apache.avro.io.EncoderFactory");
        Class<?> binary = Class.forName("org.apache.avro.io.BinaryEncoder");
        Object encoder = encoders.getMethod("directBinaryEncoder", java.io.OutputStream.class, binary)
                .invoke(encoders.getMethod("get").invoke(null), out, null);
        Object writer = Class.forName("org.apache.avro.generic.GenericDatumWriter")
                .getConstructor(Class.forName("org.apache.avro.Schema")).newInstance(schema);
        writer.getClass().getMethod("write", Object.class, Class.forName("org.apache.avro.io.Encoder")).invoke(writer, datum, encoder);
        binary.getMethod("flush").invoke(encoder);
        return out.toByteArray();
    }

    private static void floats(JsonNode request, ObjectNode answer) {
        ArrayNode doubles = answer.putArray("doubles");
        request.get("doubles").forEach(each -> doubles.add(Double.toString(Double.longBitsToDouble(Long.parseUnsignedLong(each.asText(), 16)))));
        ArrayNode singles = answer.putArray("singles");
        request.get("singles").forEach(each -> singles.add(Float.toString(Float.intBitsToFloat(Integer.parseUnsignedInt(each.asText(), 16)))));
    }

    private static Schema schema(JsonNode given) {
        if (given == null || given.isNull()) {
            return null;
        }
        String word = given.get("type").asText();
        Schema.Type type = switch (word) {
            case "float" -> Schema.Type.FLOAT32;
            case "double" -> Schema.Type.FLOAT64;
            default -> Schema.Type.valueOf(word.toUpperCase());
        };
        Map<String, String> parameters = null;
        if (!given.get("parameters").isEmpty()) {
            parameters = new LinkedHashMap<>();
            for (JsonNode each : given.get("parameters")) {
                parameters.put(each.get(0).asText(), each.get(1).asText());
            }
        }
        List<Field> fields = null;
        Schema keys = null;
        Schema values = null;
        if (type == Schema.Type.STRUCT) {
            fields = new ArrayList<>();
            for (JsonNode each : given.get("fields")) {
                fields.add(new Field(each.get(0).asText(), fields.size(), schema(each.get(1))));
            }
        } else if (type == Schema.Type.ARRAY) {
            values = schema(given.get("items"));
        } else if (type == Schema.Type.MAP) {
            keys = schema(given.get("keys"));
            values = schema(given.get("values"));
        }
        String name = given.get("name").isNull() ? null : given.get("name").asText();
        String doc = given.get("doc").isNull() ? null : given.get("doc").asText();
        Integer version = given.get("version").isNull() ? null : given.get("version").intValue();
        boolean optional = given.get("optional").asBoolean();
        Schema bare = new ConnectSchema(type, optional, null, name, version, doc, parameters, fields, keys, values);
        if (!given.has("default")) {
            return bare;
        }
        Object standard = value(bare, given.get("default"));
        return new ConnectSchema(type, optional, standard, name, version, doc, parameters, fields, keys, values);
    }

    private static Object value(Schema schema, JsonNode given) {
        if (given.isNull()) {
            return null;
        }
        String kind = given.get(0).asText();
        JsonNode content = given.get(1);
        switch (kind) {
            case "boolean":
                return content.asBoolean();
            case "int8":
                return (byte) content.asInt();
            case "int16":
                return (short) content.asInt();
            case "int32":
                return content.asInt();
            case "int64":
                return Long.parseLong(content.asText());
            case "float":
                return Float.intBitsToFloat(Integer.parseUnsignedInt(content.asText(), 16));
            case "double":
                return Double.longBitsToDouble(Long.parseUnsignedLong(content.asText(), 16));
            case "string":
                return content.asText();
            case "bytes":
                return java.util.Base64.getDecoder().decode(content.asText());
            case "buffer":
                return ByteBuffer.wrap(java.util.Base64.getDecoder().decode(content.asText()));
            case "decimal":
                return new BigDecimal(new BigInteger(content.get(0).asText()), content.get(1).asInt());
            case "date":
                return new java.util.Date(Long.parseLong(content.asText()));
            case "array": {
                List<Object> list = new ArrayList<>();
                Schema items = schema != null && schema.type() == Schema.Type.ARRAY ? schema.valueSchema() : null;
                content.forEach(each -> list.add(value(items, each)));
                return list;
            }
            case "map": {
                Map<Object, Object> map = new LinkedHashMap<>();
                boolean known = schema != null && schema.type() == Schema.Type.MAP;
                for (JsonNode each : content) {
                    map.put(value(known ? schema.keySchema() : null, each.get(0)), value(known ? schema.valueSchema() : null, each.get(1)));
                }
                return map;
            }
            case "struct": {
                Struct struct = new Struct(schema);
                int place = 0;
                for (JsonNode each : content) {
                    Field field = schema.fields().get(place++);
                    struct.put(field, value(field.schema(), each));
                }
                return struct;
            }
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static JsonNode shownSchema(Schema schema) {
        if (schema == null) {
            return JSON.nullNode();
        }
        ObjectNode found = JSON.createObjectNode();
        found.put("type", schema.type().getName().toLowerCase()).put("optional", schema.isOptional()).put("name", schema.name()).put("doc", schema.doc());
        if (schema.version() == null) {
            found.putNull("version");
        } else {
            found.put("version", schema.version().intValue());
        }
        ArrayNode parameters = found.putArray("parameters");
        if (schema.parameters() != null) {
            new TreeMap<>(schema.parameters()).forEach((key, each) -> parameters.addArray().add(key).add(each));
        }
        if (schema.defaultValue() != null) {
            found.set("default", shown(schema.defaultValue()));
        }
        switch (schema.type()) {
            case STRUCT -> {
                ArrayNode fields = found.putArray("fields");
                schema.fields().forEach(each -> fields.addArray().add(each.name()).add(shownSchema(each.schema())));
            }
            case ARRAY -> found.set("items", shownSchema(schema.valueSchema()));
            case MAP -> {
                found.set("keys", shownSchema(schema.keySchema()));
                found.set("values", shownSchema(schema.valueSchema()));
            }
            default -> { }
        }
        return found;
    }

    private static JsonNode shown(Object value) {
        ArrayNode found = JSON.createArrayNode();
        if (value == null) {
            return JSON.nullNode();
        } else if (value instanceof Boolean) {
            found.add("boolean").add((Boolean) value);
        } else if (value instanceof Byte || value instanceof Short || value instanceof Integer || value instanceof Long) {
            found.add("int").add(value.toString());
        } else if (value instanceof Float) {
            found.add("float").add(String.format("%08x", Float.floatToIntBits((Float) value)));
        } else if (value instanceof Double) {
            found.add("double").add(String.format("%016x", Double.doubleToLongBits((Double) value)));
        } else if (value instanceof String) {
            found.add("string").add((String) value);
        } else if (value instanceof byte[]) {
            found.add("bytes").add((byte[]) value);
        } else if (value instanceof BigDecimal) {
            found.add("decimal").addArray().add(((BigDecimal) value).unscaledValue().toString()).add(((BigDecimal) value).scale());
        } else if (value instanceof java.util.Date) {
            found.add("date").add(Long.toString(((java.util.Date) value).getTime()));
        } else if (value instanceof List) {
            ArrayNode items = found.add("array").addArray();
            ((List<?>) value).forEach(each -> items.add(shown(each)));
        } else if (value instanceof Map) {
            ArrayNode members = found.add("map").addArray();
            ((Map<?, ?>) value).forEach((key, each) -> members.addArray().add(shown(key)).add(shown(each)));
        } else if (value instanceof Struct) {
            ArrayNode members = found.add("struct").addArray();
            ((Struct) value).schema().fields().forEach(each -> members.add(shown(((Struct) value).getWithoutDefault(each.name()))));
        } else {
            throw new IllegalArgumentException(value.getClass().getName());
        }
        return found;
    }
}
