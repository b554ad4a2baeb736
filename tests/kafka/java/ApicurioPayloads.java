import io.apicurio.registry.rest.client.RegistryClient;
import io.apicurio.registry.rest.v2.beans.ArtifactMetaData;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * Payloads by the serializer of Apicurio's Kafka client, in the wire format of Confluent's, and by Avro's own encoder in
 * blocks: a line of base64 each, two for each line of Avro's JSON on standard input. The first line is the schema.
 */
public class ApicurioPayloads {
    private static final int ID = 1;

    public static void main(String[] arguments) throws Exception {
        String[] lines = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
        Schema schema = new Schema.Parser().parse(lines[0]);
        AvroKafkaSerializer<Object> serializer = new AvroKafkaSerializer<>(registry());
        serializer.configure(Map.of(
            "apicurio.registry.as-confluent", "true",
            "apicurio.registry.auto-register", "true",
            "apicurio.registry.headers.enabled", "false",
            "apicurio.registry.use-id", "contentId",
            "apicurio.registry.url", "stub"), false);
        for (int number = 1; number < lines.length; number++) {
            Object datum = new GenericDatumReader<>(schema)
                .read(null, DecoderFactory.get().jsonDecoder(schema, lines[number]));
            print(serializer.serialize("t", datum));
            print(inBlocks(schema, datum));
        }
    }

    /** A registry that answers whatever is registered with the same id; the serializer asks it for nothing else. */
    private static RegistryClient registry() {
        return (RegistryClient) Proxy.newProxyInstance(
            RegistryClient.class.getClassLoader(), new Class<?>[] {RegistryClient.class}, (self, method, given) -> {
                if (method.getReturnType() != ArtifactMetaData.class) {
                    throw new UnsupportedOperationException(method.toString());
                }
                ArtifactMetaData told = new ArtifactMetaData();
                told.setId("t-value");
                told.setVersion("1");
                told.setContentId((long) ID);
                told.setGlobalId((long) ID);
                return told;
            });
    }

    private static byte[] inBlocks(Schema schema, Object datum) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(new byte[] {0, 0, 0, 0, ID});
        var encoder = new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(out, null);
        new GenericDatumWriter<>(schema).write(datum, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    private static void print(byte[] payload) {
        System.out.println(Base64.getEncoder().encodeToString(payload));
    }
}
