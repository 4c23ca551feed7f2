import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Answers what Java's own classes make of texts: regular expressions, dates, numbers, properties, orders of maps. */
public final class JavaTexts {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_MATCHES = 20;
    private static final int MOST_READS = 200_000;

    /** A text that ends a match which takes too long. */
    private static final class Counted implements CharSequence {
        private final String text;
        private int left = MOST_READS;

        Counted(String text) {
            this.text = text;
        }

        @Override
        public char charAt(int index) {
            if (left-- == 0) {
                throw new IllegalStateException("Too long");
            }
            return text.charAt(index);
        }

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            return text.subSequence(start, end);
        }

        @Override
        public String toString() {
            return text;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            JsonNode found;
            switch (asked.get("what").asText()) {
                case "regex":
                    found = regex(asked);
                    break;
                case "dates":
                    found = dates(asked);
                    break;
                case "numbers":
                    found = numbers(asked.get("texts"));
                    break;
                case "properties":
                    found = properties(asked.get("text").asText());
                    break;
                default:
                    found = order(asked.get("keys"));
            }
            out.println(JSON.writeValueAsString(found));
            out.flush();
        }
    }

    private static JsonNode regex(JsonNode asked) {
        ObjectNode found = JSON.createObjectNode();
        String source = asked.get("pattern").asText();
        Pattern pattern;
        Pattern anyCase;
        try {
            pattern = Pattern.compile(source);
            anyCase = Pattern.compile(source, Pattern.CASE_INSENSITIVE);
        } catch (PatternSyntaxException refused) {
            return found.put("refused", refused.getMessage());
        } catch (RuntimeException | StackOverflowError refused) {
            return found.put("refused", "");
        }
        ArrayNode answers = found.putArray("answers");
        for (JsonNode subject : asked.get("subjects")) {
            answers.add(answer(pattern, anyCase, subject.asText(), asked.get("replacement").asText()));
        }
        return found;
    }

    private static JsonNode answer(Pattern pattern, Pattern anyCase, String text, String replacement) {
        ObjectNode found = JSON.createObjectNode();
        try {
            Matcher whole = pattern.matcher(new Counted(text));
            found.set("whole", whole.matches() ? groups(whole) : null);
            found.put("any case", anyCase.matcher(new Counted(text)).matches());
            ArrayNode parts = found.putArray("parts");
            Matcher part = pattern.matcher(new Counted(text));
            while (parts.size() < MOST_MATCHES && part.find()) {
                parts.add(groups(part));
            }
            try {
                found.put("replaced", pattern.matcher(new Counted(text)).replaceAll(replacement));
            } catch (IllegalArgumentException | IndexOutOfBoundsException refused) {
                found.put("replaced", "!");
            }
        } catch (RuntimeException | StackOverflowError late) {
            // A match that takes too long, or a defect of Java's: a class such as [a&&] makes a NullPointerException.
            return null;
        }
        return found;
    }

    private static ArrayNode groups(Matcher matcher) {
        ArrayNode found = JSON.createArrayNode();
        for (int at = 0; at <= matcher.groupCount(); at++) {
            found.add(matcher.group(at));
        }
        return found;
    }

    private static JsonNode dates(JsonNode asked) {
        ObjectNode found = JSON.createObjectNode();
        SimpleDateFormat format;
        try {
            format = new SimpleDateFormat(asked.get("pattern").asText(), Locale.ENGLISH);
        } catch (IllegalArgumentException refused) {
            return found.put("refused", refused.getMessage());
        }
        TimeZone utc = TimeZone.getTimeZone("UTC");
        format.set2DigitYearStart(new Date(asked.get("century").asLong()));
        ArrayNode written = found.putArray("written");
        ArrayNode read = found.putArray("read");
        for (JsonNode time : asked.get("times")) {
            format.setTimeZone(utc);
            written.add(format.format(new Date(time.asLong())));
        }
        for (JsonNode text : asked.get("texts")) {
            // Reading a zone changes the format's own.
            format.setTimeZone(utc);
            Date time = format.parse(text.asText(), new ParsePosition(0));
            if (time == null) {
                read.addNull();
            } else {
                read.add(time.getTime());
            }
        }
        return found;
    }

    private static JsonNode numbers(JsonNode texts) {
        ArrayNode found = JSON.createArrayNode();
        for (JsonNode each : texts) {
            String text = each.asText();
            ArrayNode kinds = found.addArray();
            kinds.add(or(() -> String.valueOf(Byte.parseByte(text))));
            kinds.add(or(() -> String.valueOf(Short.parseShort(text))));
            kinds.add(or(() -> String.valueOf(Integer.parseInt(text))));
            kinds.add(or(() -> String.valueOf(Long.parseLong(text))));
            kinds.add(or(() -> {
                BigDecimal number = new BigDecimal(text);
                return Math.abs((long) number.scale()) > 1000 ? "" : number.toString();
            }));
            kinds.add(or(() -> String.valueOf(Double.doubleToLongBits(Double.parseDouble(text)))));
            kinds.add(or(() -> String.valueOf(Float.floatToIntBits(Float.parseFloat(text)))));
            kinds.add(or(() -> {
                double number = Double.parseDouble(text);
                return (byte) number + " " + (short) number + " " + (int) number + " " + (long) number;
            }));
            kinds.add(or(() -> {
                BigDecimal number = new BigDecimal(text);
                return number.byteValue() + " " + number.shortValue() + " " + number.intValue() + " " + number.longValue();
            }));
            kinds.add(or(() -> String.valueOf(Double.parseDouble(text))));
            kinds.add(or(() -> String.valueOf(Float.parseFloat(text))));
            kinds.add(or(() -> String.valueOf(text.hashCode())));
            kinds.add(text.trim());
            kinds.add(JSON.valueToTree(text.split(",")));
        }
        return found;
    }

    private interface Read {
        String text();
    }

    private static String or(Read read) {
        try {
            return read.text();
        } catch (NumberFormatException refused) {
            return "!";
        }
    }

    private static JsonNode properties(String text) throws Exception {
        Properties read = new Properties();
        try {
            read.load(new StringReader(text));
        } catch (IllegalArgumentException refused) {
            return JSON.createObjectNode();
        }
        ObjectNode found = JSON.createObjectNode();
        Map<Object, Object> sorted = new TreeMap<>(read);
        sorted.forEach((key, value) -> found.put((String) key, (String) value));
        return JSON.createObjectNode().set("read", found);
    }

    private static JsonNode order(JsonNode keys) {
        Map<String, Integer> map = new HashMap<>();
        for (JsonNode key : keys) {
            map.put(key.asText(), 1);
        }
        List<String> listed = new ArrayList<>(map.keySet());
        return JSON.valueToTree(Collections.unmodifiableList(listed));
    }
}
