// Writes logs of Kafka's own topics by Kafka's own classes, without a broker, and dumps them with Kafka's own tool.
//
// InternalRecords DIRECTORY reads DIRECTORY/<jar>.tsv, lines of: key schema, key as JSON, value schema, version, value
// as JSON ("-": null). It writes each message as it is and broken in several ways, to DIRECTORY/<jar>-0/0...0.log, and
// what DumpLogSegments prints of that, with the flag that each file's first line names, to DIRECTORY/<jar>.txt.

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.serialization.BytesApiMessageSerde;
import org.apache.kafka.tools.DumpLogSegments;

public class InternalRecords {
    static final Map<String, String> PACKAGES = Map.of(
        "group-coordinator", "org.apache.kafka.coordinator.group.generated.",
        "transaction-coordinator", "org.apache.kafka.coordinator.transaction.generated.",
        "share-coordinator", "org.apache.kafka.coordinator.share.generated.",
        "metadata", "org.apache.kafka.common.metadata.",
        "storage", "org.apache.kafka.server.log.remote.metadata.storage.generated.",
        "clients", "org.apache.kafka.common.message.");
    static final ObjectMapper JSON = new ObjectMapper();
    static final BytesApiMessageSerde FRAMED = new BytesApiMessageSerde() {
        @Override
        public ApiMessage apiMessageFor(short apiKey) {
            throw new UnsupportedOperationException();
        }
    };

    final Random random = new Random(20);
    final List<byte[][]> records = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        PrintStream console = System.out;
        for (String jar : PACKAGES.keySet()) {
            Path lines = directory.resolve(jar + ".tsv");
            if (!Files.exists(lines)) continue;
            List<String> all = Files.readAllLines(lines);
            InternalRecords made = new InternalRecords();
            for (String line : all.subList(1, all.size())) made.add(jar, line.split("\t", -1));
            File log = directory.resolve(jar + "-0/00000000000000000000.log").toFile();
            log.getParentFile().mkdirs();
            made.write(log);
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            System.setOut(new PrintStream(text, true, "UTF-8"));
            DumpLogSegments.main(new String[] {"--files", log.toString(), all.get(0)});
            System.setOut(console);
            Files.write(directory.resolve(jar + ".txt"), text.toByteArray());
        }
    }

    void add(String jar, String[] line) throws Exception {
        boolean framed = line[0].equals("-");
        byte[] key = framed ? null : MessageUtil.toCoordinatorTypePrefixedBytes((ApiMessage) message(jar, line[0], (short) 0, line[1]));
        byte[] value = null;
        if (!line[2].equals("-")) {
            short version = Short.parseShort(line[3]);
            Message message = message(jar, line[2], version, line[4]);
            value = framed
                ? FRAMED.serialize(new ApiMessageAndVersion((ApiMessage) message, version))
                : MessageUtil.toVersionPrefixedBytes(version, message);
        }
        records.add(new byte[][] {key, value});
        if (key != null) records.add(new byte[][] {broken(key), value});
        if (value != null) for (int i = 0; i < 4; i++) records.add(new byte[][] {key, broken(value)});
    }

    /** Cut, longer, of the next version or with some byte changed. */
    byte[] broken(byte[] whole) {
        switch (random.nextInt(5)) {
            case 0: return Arrays.copyOf(whole, random.nextInt(whole.length));
            case 1: return Arrays.copyOf(whole, whole.length + 1);
            case 2: {
                byte[] next = whole.clone();
                next[Math.min(next.length - 1, 1 + random.nextInt(2))]++;
                return next;
            }
            default: {
                byte[] changed = whole.clone();
                changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
                return changed;
            }
        }
    }

    void write(File log) throws Exception {
        try (FileRecords file = FileRecords.open(log, true)) {
            for (int at = 0; at < records.size(); at += 100) {
                MemoryRecordsBuilder batch = MemoryRecords.builder(
                    ByteBuffer.allocate(1 << 20), Compression.NONE, TimestampType.CREATE_TIME, at);
                for (int i = at; i < Math.min(at + 100, records.size()); i++)
                    batch.appendWithOffset(i, 1700000000000L + i, records.get(i)[0], records.get(i)[1]);
                file.append(batch.build());
            }
        }
    }

    /** A message from JSON; bytes may stand there as a consumer's protocol: {"schema", "version", "data"}. */
    static Message message(String jar, String schema, short version, String json) throws Exception {
        JsonNode node = JSON.readTree(json);
        for (JsonNode member : node.path("members"))
            for (String field : List.of("subscription", "assignment"))
                if (member.path(field).isObject()) {
                    JsonNode inner = member.get(field);
                    short innerVersion = (short) inner.get("version").asInt();
                    Message protocol = message("clients", inner.get("schema").asText(), innerVersion, inner.get("data").toString());
                    ((ObjectNode) member).put(field, MessageUtil.toVersionPrefixedBytes(innerVersion, protocol));
                }
        return (Message) Class.forName(PACKAGES.get(jar) + schema + "JsonConverter")
            .getMethod("read", JsonNode.class, short.class).invoke(null, node, version);
    }
}
