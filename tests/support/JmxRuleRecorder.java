// Records what the real JMX exporter makes of MBeans and rule files: see record_jmx_rules.py, which starts it.
//
//   java -cp jmx_prometheus_javaagent.jar JmxRuleRecorder.java BEANS FOLDER
//
// BEANS has one attribute a line: object name, attribute, type and value, with tabs between them. FOLDER has rule files (*.yml). For each of
// them the program writes the exposition, or the exception, beside it (*.txt).

import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import javax.management.openmbean.TabularDataSupport;
import javax.management.openmbean.TabularType;

public final class JmxRuleRecorder {
    public static void main(String[] arguments) throws Exception {
        Map<String, Map<String, Object>> beans = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split("\t", -1);
            beans.computeIfAbsent(parts[0], name -> new LinkedHashMap<>()).put(parts[1], value(parts[2], parts[3]));
        }
        for (var bean : beans.entrySet()) {
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Bean(bean.getValue()), new ObjectName(bean.getKey()));
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(arguments[1]), "*.yml")) {
            for (Path file : files) {
                Path out = file.resolveSibling(file.getFileName().toString().replace(".yml", ".txt"));
                Files.writeString(out, exposition(Files.readString(file)));
            }
        }
    }

    private static String exposition(String rules) throws Exception {
        try {
            PrometheusRegistry registry = new PrometheusRegistry();
            new JmxCollector(rules).register(registry);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            new PrometheusTextFormatWriter(false).write(out, registry.scrape());
            return out.toString("UTF-8");
        } catch (Exception problem) {
            return "EXCEPTION " + problem + "\n";
        }
    }

    private static Object value(String type, String text) throws Exception {
        switch (type) {
            case "null": return null;
            case "boolean": return Boolean.valueOf(text);
            case "int": return Integer.valueOf(text);
            case "long": return Long.valueOf(text);
            case "double": return Double.valueOf(text);
            case "date": return new Date(Long.parseLong(text));
            case "list": return text.isEmpty() ? new String[0] : text.split(",");
            case "map": return table(text);
            default: return text;
        }
    }

    private static Object table(String text) throws Exception {
        String[] names = {"key", "value"};
        OpenType<?>[] types = {SimpleType.STRING, SimpleType.LONG};
        CompositeType row = new CompositeType("row", "row", names, names, types);
        TabularDataSupport table = new TabularDataSupport(new TabularType("table", "table", row, new String[] {"key"}));
        for (String entry : text.isEmpty() ? new String[0] : text.split(",")) {
            String[] pair = entry.split("=");
            table.put(new CompositeDataSupport(row, names, new Object[] {pair[0], Long.valueOf(pair[1])}));
        }
        return table;
    }

    private static final class Bean implements DynamicMBean {
        private final Map<String, Object> attributes;

        Bean(Map<String, Object> attributes) {
            this.attributes = attributes;
        }

        @Override
        public Object getAttribute(String name) throws AttributeNotFoundException {
            if (!attributes.containsKey(name)) {
                throw new AttributeNotFoundException(name);
            }
            return attributes.get(name);
        }

        @Override
        public AttributeList getAttributes(String[] names) {
            AttributeList found = new AttributeList();
            for (String name : names) {
                if (attributes.containsKey(name)) {
                    found.add(new Attribute(name, attributes.get(name)));
                }
            }
            return found;
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            List<MBeanAttributeInfo> infos = attributes.entrySet().stream().map(entry -> {
                String type = entry.getValue() == null ? "java.lang.String" : entry.getValue().getClass().getName();
                return new MBeanAttributeInfo(entry.getKey(), type, entry.getKey(), true, false, false);
            }).toList();
            return new MBeanInfo("Bean", "", infos.toArray(new MBeanAttributeInfo[0]), null, null, null);
        }

        @Override
        public void setAttribute(Attribute attribute) {
            throw new UnsupportedOperationException();
        }

        @Override
        public AttributeList setAttributes(AttributeList given) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object invoke(String name, Object[] arguments, String[] signature) {
            throw new UnsupportedOperationException();
        }
    }
}
