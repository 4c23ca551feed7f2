import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.TransformationStage;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** Reads cases as JSON lines, and answers each with what Connect's own chain of transforms makes of its records. */
public final class Transforms {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ConnectorTaskId TASK = new ConnectorTaskId("c", 0);
    private static final Map<String, ?> POSITION_OF = Map.of("server", "s");
    private static final Map<String, ?> POSITION =
        Map.of("lsn_proc", 1L, "messageType", "INSERT", "lsn_commit", 1L, "lsn", 1L, "txId", 1L, "ts_usec", 1L);

    private final JsonConverter converter = new JsonConverter();
    private final Plugins plugins = new Plugins(Map.of("plugin.discovery", "service_load"));
    private final ConnectMetrics metrics;

    private Transforms() {
        converter.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        Map<String, String> worker = Map.of(
            "bootstrap.servers", "localhost:9", "key.converter", JsonConverter.class.getName(), "value.converter", JsonConverter.class.getName(),
            "offset.storage.file.filename", "/dev/null");
        metrics = new ConnectMetrics("w", new StandaloneConfig(worker), Time.SYSTEM, "cluster");
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // Whatever else writes to standard output is no answer.
        System.setOut(System.err);
        Transforms transforms = new Transforms();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(transforms.answer(JSON.readTree(line))));
            out.flush();
        }
    }

    private ObjectNode answer(JsonNode asked) {
        Map<String, String> config = new HashMap<>();
        asked.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().textValue()));
        ObjectNode answer = JSON.createObjectNode();
        if (validate(config, answer.putObject("validated"))) {
            return answer;
        }
        List<TransformationStage<SourceRecord>> stages;
        try {
            stages = new ConnectorConfig(plugins, config).transformationStages(plugins, TASK, metrics);
        } catch (Throwable error) {
            answer.put("refused", message(error));
            return answer;
        }
        ArrayNode records = answer.putArray("records");
        for (JsonNode each : asked.get("records")) {
            records.add(outcome(stages, each));
        }
        for (TransformationStage<SourceRecord> stage : stages) {
            try {
                stage.close();
            } catch (Throwable error) {
                // What a transform does at its end is not compared.
            }
        }
        return answer;
    }

    private boolean validate(Map<String, String> config, ObjectNode found) {
        List<ConfigValue> values;
        ConfigDef definitions;
        try {
            definitions = ConnectorConfig.enrich(plugins, ConnectorConfig.configDef(), config, false);
            values = definitions.validate(config);
        } catch (Throwable error) {
            found.put("thrown", message(error));
            return true;
        }
        boolean wrong = false;
        for (ConfigValue value : values) {
            if (!value.name().startsWith("transforms.") && !value.name().startsWith("predicates.")) {
                continue;
            }
            ConfigDef.ConfigKey key = definitions.configKeys().get(value.name());
            ArrayNode row = found.putArray(value.name());
            row.add(key == null ? null : ConfigDef.convertToString(value.value(), key.type));
            ArrayNode errors = row.addArray();
            value.errorMessages().forEach(errors::add);
            wrong |= !value.errorMessages().isEmpty();
        }
        return wrong;
    }

    private JsonNode outcome(List<TransformationStage<SourceRecord>> stages, JsonNode asked) {
        ObjectNode found = JSON.createObjectNode();
        SourceRecord record;
        try {
            record = read(asked);
        } catch (Throwable error) {
            return found.put("unreadable", message(error));
        }
        int step = 0;
        for (TransformationStage<SourceRecord> stage : stages) {
            try {
                record = stage.apply(record);
            } catch (Throwable error) {
                return found.put("step", step).put("failed", message(error));
            }
            if (record == null) {
                return found.put("dropped", true);
            }
            step++;
        }
        try {
            return written(record, found);
        } catch (Throwable error) {
            return JSON.createObjectNode().put("step", step).put("failed", message(error));
        }
    }

    private SourceRecord read(JsonNode asked) {
        SchemaAndValue key = part(asked.get("key"));
        SchemaAndValue value = part(asked.get("value"));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : asked.get("headers")) {
            headers.add(header.get(0).textValue(), part(header.get(1)));
        }
        JsonNode partition = asked.get("partition");
        JsonNode timestamp = asked.get("timestamp");
        return new SourceRecord(
            POSITION_OF, POSITION, asked.get("topic").textValue(), partition.isNull() ? null : partition.intValue(),
            key.schema(), key.value(), value.schema(), value.value(), timestamp.isNull() ? null : timestamp.longValue(), headers);
    }

    private SchemaAndValue part(JsonNode text) {
        SchemaAndValue read = converter.toConnectData("t", text.isNull() ? null : text.textValue().getBytes(StandardCharsets.UTF_8));
        return new SchemaAndValue(read.schema(), asDebezium(read.schema(), read.value()));
    }

    /** Debezium's columns of bytes are buffers, except for bits and geometries. JsonConverter reads arrays. */
    private static Object asDebezium(Schema schema, Object value) {
        if (schema == null || value == null) {
            return value;
        }
        switch (schema.type()) {
            case BYTES:
                return value instanceof byte[] && !"io.debezium.data.Bits".equals(schema.name()) ? ByteBuffer.wrap((byte[]) value) : value;
            case STRUCT:
                Struct struct = (Struct) value;
                if (schema.name() == null || !schema.name().startsWith("io.debezium.data.")) {
                    schema.fields().forEach(field -> struct.put(field, asDebezium(field.schema(), struct.getWithoutDefault(field.name()))));
                }
                return struct;
            case ARRAY:
                return ((List<?>) value).stream().map(each -> asDebezium(schema.valueSchema(), each)).collect(Collectors.toList());
            case MAP:
                Map<Object, Object> read = new LinkedHashMap<>();
                ((Map<?, ?>) value).forEach((key, each) -> read.put(key, asDebezium(schema.valueSchema(), each)));
                return read;
            default:
                return value;
        }
    }

    private JsonNode written(SourceRecord record, ObjectNode found) {
        found.put("topic", record.topic());
        found.put("partition", record.kafkaPartition());
        found.put("key", text(record.keySchema(), record.key()));
        found.put("value", text(record.valueSchema(), record.value()));
        found.put("timestamp", record.timestamp());
        ArrayNode headers = found.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.schema(), header.value()));
        }
        return found;
    }

    private String text(Schema schema, Object value) {
        byte[] bytes = converter.fromConnectData("t", schema, value);
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private static String message(Throwable error) {
        Throwable cause = error;
        while (cause.getClass().getName().equals("org.apache.kafka.connect.errors.ConnectException") && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }
}
