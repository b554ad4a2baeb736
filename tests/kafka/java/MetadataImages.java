// Replays metadata records by Kafka's own MetadataDelta, without a broker, and writes what a snapshot would have then.
//
// MetadataImages DIRECTORY reads DIRECTORY/records.txt: a line is a record in hexadecimal, as it stands in the log; "apply"
// makes an image of what came before, "end" ends a cluster. It writes the records of each cluster's last image in the same way
// to DIRECTORY/images.txt.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.serialization.BytesApiMessageSerde;

public class MetadataImages {
    static final BytesApiMessageSerde FRAMED = new BytesApiMessageSerde() {
        @Override
        public ApiMessage apiMessageFor(short apiKey) {
            return MetadataRecordType.fromId(apiKey).newMetadataRecord();
        }
    };

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        List<String> written = new ArrayList<>();
        MetadataImage image = MetadataImage.EMPTY;
        MetadataDelta delta = delta(image);
        for (String line : Files.readAllLines(directory.resolve("records.txt"))) {
            if (!line.equals("apply") && !line.equals("end")) {
                delta.replay(FRAMED.deserialize(HexFormat.of().parseHex(line)).message());
                continue;
            }
            image = delta.apply(new MetadataProvenance(1, 1, 1, true));
            if (line.equals("end")) {
                RecordListWriter writer = new RecordListWriter();
                image.write(writer, new ImageWriterOptions.Builder(image).build());
                for (ApiMessageAndVersion record : writer.records())
                    written.add(HexFormat.of().formatHex(FRAMED.serialize(record)));
                written.add("end");
                image = MetadataImage.EMPTY;
            }
            delta = delta(image);
        }
        Files.write(directory.resolve("images.txt"), written);
    }

    static MetadataDelta delta(MetadataImage image) {
        return new MetadataDelta.Builder().setImage(image).build();
    }
}
