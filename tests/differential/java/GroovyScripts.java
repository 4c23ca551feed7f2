import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.script.Bindings;
import javax.script.Compilable;
import javax.script.CompiledScript;
import javax.script.ScriptEngine;
import javax.script.ScriptEngineManager;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/** Evaluates scripts for records with Groovy's JSR 223 engine and the variables that Debezium gives them. */
public final class GroovyScripts {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int SCRIPTS_OF_ONE_ENGINE = 300;
    private static final long MOST_MILLISECONDS = 15_000;
    private static final int LONGEST_ANSWER = 2000;
    private static final String TOO_LONG = "[\"~\"]";

    public static final class RecordHeader {
        public final Object value;
        public final Schema schema;

        RecordHeader(SchemaAndValue held) {
            value = held.value();
            schema = held.schema();
        }

        @Override
        public String toString() {
            return "RecordHeader [value=" + value + ", schema=" + schema + "]";
        }
    }

    private final JsonConverter withSchemas = converter("true");
    private final JsonConverter plain = converter("false");
    private JsonNode records;
    private ScriptEngine engine;
    private int made;

    private static JsonConverter converter(String schemas) {
        JsonConverter found = new JsonConverter();
        found.configure(Map.of("schemas.enable", schemas, "replace.null.with.default", "false"), false);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        GroovyScripts scripts = new GroovyScripts();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            if (asked.has("records")) {
                scripts.records = asked.get("records");
                // Stopping a thread that loads a class would leave that class unusable.
                scripts.answers("[1, 1.5d, 2.5, 'a', 3L].collect { \"$it\" =~ /a/ ? 1 : it as String }.findAll { it != null }", JSON.createArrayNode());
                out.println("null");
            } else {
                out.println(scripts.inTime(asked.get("script").asText()));
            }
            out.flush();
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private String inTime(String text) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        boolean[] full = new boolean[1];
        Thread worker = new Thread(() -> {
            try {
                answers(text, found);
            } catch (OutOfMemoryError | ThreadDeath error) {
                full[0] = true;
            }
        });
        worker.setDaemon(true);
        worker.start();
        worker.join(MOST_MILLISECONDS);
        if (worker.isAlive()) {
            // A script may count up to 2^63. Only a stopped thread leaves the processor to the others.
            worker.stop();
            worker.join(MOST_MILLISECONDS);
            full[0] = true;
        }
        if (full[0]) {
            engine = null;
            return TOO_LONG;
        }
        return JSON.writeValueAsString(found);
    }

    private void answers(String text, ArrayNode found) {
        // The engine keeps the classes of its scripts.
        if (engine == null || made++ % SCRIPTS_OF_ONE_ENGINE == 0) {
            engine = new ScriptEngineManager().getEngineByName("groovy");
            if (engine == null) {
                throw new IllegalStateException("No Groovy engine is among the jars");
            }
        }
        CompiledScript script;
        try {
            script = ((Compilable) engine).compile(text);
        } catch (ThreadDeath stopped) {
            throw stopped;
        } catch (Throwable thrown) {
            found.add("?" + root(thrown));
            return;
        }
        for (JsonNode record : records) {
            try {
                String answer = described(script.eval(variables(record)), 0);
                found.add(answer.substring(0, Math.min(LONGEST_ANSWER, answer.length())));
            } catch (OutOfMemoryError | ThreadDeath error) {
                throw error;
            } catch (Throwable thrown) {
                found.add("!" + root(thrown));
            }
        }
    }

    private static String root(Throwable thrown) {
        while (thrown.getCause() != null) {
            thrown = thrown.getCause();
        }
        return thrown.getClass().getSimpleName();
    }

    private Bindings variables(JsonNode record) {
        Bindings found = engine.createBindings();
        SchemaAndValue key = read(record.get("key"));
        SchemaAndValue value = read(record.get("value"));
        Map<String, RecordHeader> headers = new HashMap<>();
        for (JsonNode each : record.get("headers")) {
            headers.put(each.get(0).asText(), new RecordHeader(read(each.get(1))));
        }
        found.put("key", key.value());
        found.put("value", value.value());
        found.put("keySchema", key.schema());
        found.put("valueSchema", value.schema());
        found.put("topic", record.get("topic").asText());
        found.put("header", headers);
        return found;
    }

    private SchemaAndValue read(JsonNode held) {
        if (held == null || held.isNull()) {
            return SchemaAndValue.NULL;
        }
        boolean schemas = held.get("schemas").asBoolean();
        return (schemas ? withSchemas : plain).toConnectData("t", held.get("json").asText().getBytes(StandardCharsets.UTF_8));
    }

    private static String described(Object value, int depth) {
        if (depth > 20) {
            return "...";
        }
        if (value == null) {
            return "null";
        }
        if (value instanceof Object[]) {
            return "Array" + members(java.util.Arrays.asList((Object[]) value), depth);
        }
        if (value instanceof Set) {
            return "Set" + members((Set<?>) value, depth);
        }
        if (value instanceof List) {
            return "List" + members((List<?>) value, depth);
        }
        if (value instanceof Map.Entry) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) value;
            return "Entry[" + described(entry.getKey(), depth + 1) + ": " + described(entry.getValue(), depth + 1) + "]";
        }
        if (value instanceof Map) {
            List<String> parts = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                parts.add(described(entry.getKey(), depth + 1) + ": " + described(entry.getValue(), depth + 1));
            }
            return "Map[" + String.join(", ", parts) + "]";
        }
        if (value instanceof groovy.lang.Closure) {
            return "Closure";
        }
        return value.getClass().getSimpleName() + ":" + value;
    }

    private static String members(Iterable<?> values, int depth) {
        List<String> parts = new ArrayList<>();
        for (Object each : values) {
            parts.add(described(each, depth + 1));
        }
        return "[" + String.join(", ", parts) + "]";
    }
}
