/* mote_train.h: models that learn on the device, from images that `mote pack --train` has written.
 *
 *     mote_train_begin(&model, 0.01f);
 *     while (fill_with_a_sample(mote_input(&model, 0))) { mote_train(&model, label); }
 *     if (mote_train_end(&model) == MOTE_OK) {
 *         mote_save_weights(&model, &records, &mac);
 *     } else {
 *         mote_load_weights(&model, &records, &mac); // or mote_reset: back to the weights that were shipped
 *     }
 *
 * What was learned lies in the state block: inferences use it at once, mote_reset forgets it, and mote_save keeps it with
 * all other states. A record of its own outlives resets, and updates of nothing but the firmware.
 *
 * A record is for one image: its MAC covers the image's header, in which there are the SHA-256 of the model file, the
 * version and the CRC-32 of all the image. Weights as they were shipped are the signature's matter. The MAC is made with a
 * key that only this device has and that is used for nothing else (mote_hmac.h makes one of any key, in software). A
 * record that this device has not written is not loaded, whoever wrote it; an older one that it has written is, where
 * somebody has put it back: mote_saved_weights tells its number, which firmware can compare with a counter that goes up
 * only.
 */
#ifndef MOTE_TRAIN_H
#define MOTE_TRAIN_H

#include "mote_flash.h"
#include "mote_mac.h"
#include "mote_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All functions that return a status: MOTE_NOT_READY before mote_init, MOTE_UNSUPPORTED where the image does not learn (or
 * not so: from labels, from targets), MOTE_BUSY in the middle of an inference. */

/* Begin a session of training: what the optimizer remembers is forgotten, what was learned stays. Images without a
 * learning rate ignore it; else MOTE_BAD_STATE: it is not above 0. */
mote_status mote_train_begin(const mote_interpreter_t *it, float rate);

/* Learn the sample that is in the inputs: an inference as mote_invoke does it, whose outputs are those before the sample
 * was learned, then the step. MOTE_BAD_STATE: the label is no class, or the target has not as many bytes as it takes;
 * nothing has changed. mote_invoke itself never learns. */
mote_status mote_train(mote_interpreter_t *it, int32_t label);
mote_status mote_train_target(mote_interpreter_t *it, const void *target, size_t bytes);

/* The same in pieces: say what is right, then call mote_step, mote_invoke or, where the input is handed over row by row,
 * mote_push; that inference learns, and none behind it. (mote_train has no rows: MOTE_WAITING.) Models that classify
 * positions of their input take a label for each, -1 where none is known; one must be. */
mote_status mote_set_labels(const mote_interpreter_t *it, const int32_t *labels, size_t count);
mote_status mote_set_target(const mote_interpreter_t *it, const void *target, size_t bytes);

/* End a session. MOTE_BAD_STATE: something that was learned is infinite or no number, as after a learning rate that is too
 * high. Nothing like that is ever saved. It changes nothing: training may go on. */
mote_status mote_train_end(const mote_interpreter_t *it);

/* The loss of the sample that was learned last, before it was; samples that were learned of the class of that one, 0 where
 * nothing could be learned of it. 0 for images that do not have such a number. */
float mote_loss(const mote_interpreter_t *it);
int32_t mote_learned_samples(const mote_interpreter_t *it);

/* Bytes of a record of what was learned; 0 for images that do not learn. */
uint32_t mote_weights_bytes(const mote_interpreter_t *it);

/* Write what was learned to flash, behind the records that are there, and take it from the newest record that is whole,
 * of this image, authentic, and has values that can be. The area holds two records or more, in sectors of their own. Power
 * may fail at any moment: the record before holds until the new one is complete. MOTE_BAD_FLASH: the area is too small or
 * not described as mote_flash.h says, or the flash or the MAC failed; what was saved before holds, and only a load that
 * does not read again what it has checked leaves the model as after init. MOTE_BAD_STATE: there is no such record, no way
 * to make a MAC (`mac` is NULL: there are no records without one), or, to be saved, what was learned has a value that
 * cannot be; nothing has changed. */
mote_status mote_save_weights(const mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac);
mote_status mote_load_weights(mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac);

/* The number of this image's newest record there that can be loaded, one more with each save; 0: there is none. The first
 * record of an image counts on from those of other images in the area. */
uint32_t mote_saved_weights(const mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac);

/* The same record in memory of yours, mote_weights_bytes of it, for a file system or a line. */
mote_status mote_export_weights(const mote_interpreter_t *it, void *record, size_t bytes, const mote_mac_t *mac);
mote_status mote_import_weights(mote_interpreter_t *it, const void *record, size_t bytes, const mote_mac_t *mac);

#ifdef __cplusplus
}
#endif

#endif
